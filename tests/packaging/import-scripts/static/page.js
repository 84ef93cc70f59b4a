
/** The worker pays; the page only asks it to. */
async function asked() {
  const registration = await navigator.serviceWorker.register('worker.js');
  const worker = registration.installing ?? registration.waiting ?? registration.active;
  const { port1, port2 } = new MessageChannel();
  const told = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
  worker.postMessage({ api: payment.apiOf(location) }, [port2]);
  return told;
}

payment.show(asked());
