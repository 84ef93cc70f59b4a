// The checkout that App.tsx shows. Bundle it as any web page, or map these names with an import map.
import { openQueue } from 'intento';
import { generic } from 'intento/contracts';
import { connectHost } from 'intento/react-native/page';

const API = new URLSearchParams(location.search).get('api') ?? 'https://api.shop.example';
const status = document.querySelector('#status');

/** In the app's webview the app keeps the intents and is told the outcomes; in a browser the page does both. */
async function open() {
  const common = { scope: 'shopper', contract: generic, baseUrl: API };
  if (window.ReactNativeWebView === undefined) return openQueue(common);
  const host = await connectHost();
  const queue = await openQueue({ ...common, store: host.store, onOutcome: { 'authorize-payment': host.onOutcome } });
  host.serve(queue);
  return queue;
}

const queue = await open();
status.textContent = 'ready';

document.querySelector('#pay').addEventListener('click', async () => {
  status.textContent = 'paying';
  const intent = await queue.submit({
    operation: 'authorize-payment',
    reference: 'order-842',
    request: { method: 'POST', url: '/payments', body: { amount: 15_000, currency: 'BRL', card: 'tok_visa', order: 'order-842' } },
  });
  const now = await intent.settled();
  status.textContent = now.kind;
});
