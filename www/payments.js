// The one place of this page that talks to intento.
import { PageError } from './api.js';

const SCOPE = 'demo-shopper';
const OPERATION = 'authorize-payment';
const REPLACED = 'another card';
const ATTEMPT_DEADLINE_MS = 4000;
const SETTLE_WITHIN_MS = 15_000;
const REREAD_MS = 2000;
/** What going on with the same key can mend; for the rest the shop is asked what became of it. */
const RESUMABLE = ['auth', 'config', 'redirected'];
const LOOKUP = {
  method: 'POST',
  path: '/payments/lookup',
  rules: [
    { when: { status: [200], pointer: { at: '/result', is: ['applied'] } }, then: 'applied' },
    { when: { status: [200], pointer: { at: '/sealed', is: ['true'] } }, then: 'not_applied' },
  ],
  responseAt: '/response',
};

/**
 * Opens the queue and keeps the newest snapshot of every intent.
 * `changed()` is called after any of them changed. Throws IntentoError, or `PageError('package_missing')`.
 */
export async function openPayments(baseUrl, changed) {
  const { openQueue, defineContract, generic } = await load();
  const queue = await openQueue({
    scope: SCOPE,
    contract: defineContract({ extends: generic, id: 'shop', reconcile: LOOKUP }),
    baseUrl,
    probeUrl: `${baseUrl}/health`,
    attemptDeadlineMs: ATTEMPT_DEADLINE_MS,
    authorize: () => ({ scope: SCOPE, headers: { Authorization: `Bearer user:${SCOPE}` } }),
  });
  const known = new Map();
  const undurable = new Set();
  let events = 0;

  const keep = (snapshot) => {
    if (undurable.has(snapshot.id)) return;
    known.set(snapshot.id, snapshot);
  };
  queue.on('change', (snapshot) => {
    events += 1;
    keep(snapshot);
    changed();
  });

  // Another tab may run an intent of ours; its changes need not raise an event here.
  const reread = async () => {
    const before = events;
    const snapshots = await queue.intents();
    if (events !== before) return;
    snapshots.forEach(keep);
    changed();
  };
  await reread();
  setInterval(() => document.hidden || reread().catch(console.error), REREAD_MS);

  const all = () => [...known.values()].sort((a, b) => a.createdAt - b.createdAt);
  const found = async (snapshot) => {
    const intent = await queue.intent(snapshot.id);
    if (intent === null) throw new PageError('payment_missing', snapshot.id);
    return intent;
  };
  const request = (body) => ({ method: 'POST', url: '/payments', body });

  async function settle(intent) {
    keep(intent.snapshot);
    changed();
    const settled = await intent.settled({ within: SETTLE_WITHIN_MS });
    keep(settled.intent);
    // The record could not be written: later reads would show less than this page was told.
    if (settled.durable === false) undurable.add(settled.intent.id);
    changed();
    return settled;
  }

  return {
    /** Every known intent, oldest first. */
    all,
    /** The payment that counts: the newest in a chain of replacements. */
    forOrder: (order) => all().findLast((it) => it.operation === OPERATION && it.reference === order.id) ?? null,
    /** Stores the payment, then waits a bounded time for what is known of it. */
    pay: async (order, body) => settle(await queue.submit({ operation: OPERATION, reference: order.id, request: request(body) })),
    /** As `pay`, in place of a payment that is known to have charged nothing. */
    replace: async (snapshot, body) => settle(await (await found(snapshot)).replace(request(body), { reason: REPLACED })),
    /** Lets a held payment go on with its key, or asks the shop about it; then waits as `pay` does. */
    async resume(snapshot) {
      const intent = await found(snapshot);
      if (RESUMABLE.includes(snapshot.heldReason)) await intent.resume();
      else await intent.reconcile({ within: SETTLE_WITHIN_MS });
      return settle(intent);
    },
    async cancel(snapshot) {
      const intent = await found(snapshot);
      const cancelled = await intent.cancel();
      keep(intent.snapshot);
      changed();
      return cancelled;
    },
  };
}

async function load() {
  try {
    const [{ openQueue }, contracts] = await Promise.all([import('/pkg/index.js'), import('/pkg/contracts.js')]);
    return { openQueue, ...contracts };
  } catch (cause) {
    throw new PageError('package_missing', String(cause), { cause });
  }
}
