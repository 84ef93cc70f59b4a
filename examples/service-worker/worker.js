// Drains what the customer left unfinished, also after the last page is closed.
import { drainOnSync } from '/intento/service-worker.js';
import { queueOptions } from './options.js';

drainOnSync({ queueOptions });

addEventListener('install', () => skipWaiting());
