// A checkout. `?api=` says where payments are taken: the reference server, for one.
import { openQueue } from '/intento/index.js';
import { queueOptions, signIn } from './options.js';

const ORDER = 'order-842';
const [button, status] = ['pay', 'status'].map((id) => document.getElementById(id));
const api = new URLSearchParams(location.search).get('api') ?? 'http://127.0.0.1:8080';

const words = {
  succeeded: 'Paid. Thank you!',
  rejected: 'Your bank said no.',
  pending: 'Not confirmed yet. You can close this page: it goes on by itself.',
  held: 'We are looking into it. You will not be charged twice.',
};

function show({ kind }) {
  status.textContent = words[kind] ?? kind;
}

async function pay(queue) {
  button.disabled = true;
  const body = { amount: 15_000, currency: 'BRL', card: 'tok_visa', order: ORDER };
  const request = { method: 'POST', url: '/payments', body };
  const intent = await queue.submit({ operation: 'authorize-payment', reference: ORDER, request });
  // Honest after a while, and again when it is known.
  show(await intent.settled({ within: 3_000 }));
  show(await intent.settled({ within: 120_000 }));
}

// Without service workers everything but the wake-up is the same.
await navigator.serviceWorker?.register('/worker.js', { type: 'module' }).catch(() => {});
await signIn('ana', api);
const queue = await openQueue({
  ...(await queueOptions()),
  // Called once for each outcome, also for what the worker did while nobody was here.
  onOutcome: { 'authorize-payment': show },
});
button.addEventListener('click', () => pay(queue));
document.body.dataset.ready = 'yes';
