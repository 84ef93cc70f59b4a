// Drains what the customer left unfinished, also after the last page is closed.
import { openQueue } from '/intento/index.js';
import { drainOnSync } from '/intento/service-worker.js';
import { queueOptions } from './options.js';

drainOnSync({
  async open() {
    const options = await queueOptions();
    return options && openQueue(options);
  },
});

addEventListener('install', () => skipWaiting());
