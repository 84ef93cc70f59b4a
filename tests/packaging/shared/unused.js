// What an app has that, once its own code is trimmed, uses the class of errors and nothing else.
import { IntentoError, openQueue } from 'intento';

export const later = () => openQueue;
export const now = (error) => error instanceof IntentoError;
