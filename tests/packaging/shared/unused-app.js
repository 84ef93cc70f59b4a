import { now } from './unused.js';

addEventListener('error', ({ error }) => (document.title = String(now(error))));
