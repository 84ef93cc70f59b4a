import { generic } from './intento/contracts.js';
import { openQueue } from './intento/index.js';
import { pay } from './pay.js';

addEventListener('message', (event) => {
  const paying = pay({ openQueue, generic, api: event.data.api }).catch((error) => ({ error: `${error?.stack ?? error}` }));
  event.waitUntil(paying.then((told) => event.ports[0].postMessage(told)));
});
