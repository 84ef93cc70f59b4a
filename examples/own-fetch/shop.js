// A checkout whose requests go through a function of the app's own: to measure them, or into a native shell's HTTP client.
import { openQueue } from '/intento/index.js';
import { generic } from '/intento/contracts.js';

const [button, status, requests] = ['pay', 'status', 'requests'].map((id) => document.getElementById(id));
const api = new URLSearchParams(location.search).get('api') ?? 'http://127.0.0.1:8080';

/**
 * In place of the platform's `fetch`. It hands the init on as it is: the queue's signal and `redirect: 'manual'` with it. It does not
 * try again, nor answer from a cache: whether a request may be repeated is what the queue knows.
 */
async function measured(url, init) {
  const began = performance.now();
  let came = 'nothing';
  try {
    const response = await fetch(url, init);
    came = String(response.status);
    return response;
  } finally {
    const line = document.createElement('li');
    // Never the headers or the body: the key and the card are in them.
    line.textContent = `${init.method} ${new URL(url).pathname}: ${came}, ${Math.round(performance.now() - began)} ms`;
    requests.append(line);
  }
}

const queue = await openQueue({ scope: 'ana', contract: generic, baseUrl: api, probeUrl: `${api}/health`, fetch: measured });

button.addEventListener('click', async () => {
  button.disabled = true;
  // `submit` and `settled` in one call, in the shape of `fetch`. What comes back is what is known.
  const settled = await queue.fetch('/payments', {
    method: 'POST', operation: 'authorize-payment', reference: 'order-842', within: 60_000,
    body: { amount: 15_000, currency: 'BRL', card: 'tok_visa', order: 'order-842' },
  });
  status.textContent = settled.kind === 'succeeded' ? 'Paid. Thank you!' : `Not known yet: ${settled.kind}.`;
});
document.body.dataset.ready = 'yes';
