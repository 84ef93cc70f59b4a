// A checkout. `?api=` says where payments are taken: the reference server, for one.
import { openQueue } from '/intento/index.js';
import { generic } from '/intento/contracts.js';

const DECISION = { operation: 'authorize-payment', reference: 'order-842' };
const [card, payButton, cancelButton, status] = ['card', 'pay', 'cancel', 'status'].map((id) => document.getElementById(id));
const api = new URLSearchParams(location.search).get('api') ?? 'http://127.0.0.1:8080';

// What is known, in the customer's words. "Failed" is not among them: it is said only of what provably did not happen.
const words = {
  queued: 'Your payment has not left this device yet.',
  sending: 'Sending your payment…',
  waiting: 'We do not know yet whether it went through. It is saved here, and we are checking. You will not be charged twice.',
  held: 'We cannot tell yet. Do not pay again: we will confirm by e-mail.',
  succeeded: 'Paid. Thank you!',
  rejected: 'The card was declined. You were not charged. Use another card.',
  cancelled: 'Cancelled. You were not charged.',
};

const queue = await openQueue({
  scope: 'ana',
  contract: generic,
  baseUrl: api,
  probeUrl: `${api}/health`,
  // Here the shop finishes the order: called once in normal running, also after a reload; resolving acknowledges.
  onOutcome: { [DECISION.operation]: async (outcome) => console.info('outcome', outcome.kind) },
});

// The intent of this order, if there is one: of this page, of another tab, or of a page that is long gone.
let intent = await queue.intent(DECISION);

function draw() {
  const state = intent?.snapshot.state;
  status.textContent = state === undefined ? 'Not paid yet.' : (words[state] ?? words.waiting);
  payButton.disabled = intent !== null && !intent.safeToReplace;
  cancelButton.hidden = state !== 'queued';
}

async function pay() {
  payButton.disabled = true;
  const request = { method: 'POST', url: '/payments', body: { amount: 15_000, currency: 'BRL', card: card.value, order: DECISION.reference } };
  // Another card is another decision, in place of the one that provably came to nothing.
  intent = intent === null
    ? await queue.submit({ ...DECISION, request })
    : await intent.replace(request, { reason: 'another card' });
  draw();
}

queue.on('change', ({ id }) => {
  if (id === intent?.id) draw();
});
payButton.addEventListener('click', pay);
cancelButton.addEventListener('click', () => intent.cancel());
draw();
