importScripts('intento.js', 'pay.js');

const { openQueue, contracts } = intento;

addEventListener('message', (event) => {
  const paying = payment.pay({ openQueue, generic: contracts.generic, api: event.data.api });
  const told = paying.catch((error) => ({ error: `${error?.stack ?? error}` }));
  event.waitUntil(told.then((told) => event.ports[0].postMessage(told)));
});
