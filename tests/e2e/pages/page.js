// An app that does what the tests tell it, and writes down everything it is told.
const TOLD = 'told';
const api = new URLSearchParams(location.search).get('api');
let queue = null;

/** Kept in the tab, so that a reload forgets nothing. */
function tell(entry) {
  sessionStorage.setItem(TOLD, JSON.stringify([...told(), entry]));
}

function told() {
  return JSON.parse(sessionStorage.getItem(TOLD) ?? '[]');
}

/** Loads the package only now: a test may have taken something away from the page before. */
async function load() {
  const [{ openQueue }, { generic }] = await Promise.all([import('/pkg/index.js'), import('/pkg/contracts.js')]);
  return { openQueue, generic };
}

/** Opens the queue. `authorize` and `listener` name a behaviour; the other options go to `openQueue` as they are. */
async function open({ authorize, listener, handler, quiet = false, probe = true, ...options } = {}) {
  const { openQueue, generic } = await load();
  queue = await openQueue({
    scope: 'shopper',
    contract: generic,
    baseUrl: api,
    ...(probe ? { probeUrl: `${api}/health` } : {}),
    ...(authorize === undefined ? {} : { authorize: authorizer(authorize) }),
    ...(handler === undefined ? {} : { onOutcome: { 'authorize-payment': handlers[handler] } }),
    ...options,
  });
  if (listener) queue.on('change', listeners[listener]);
  if (!quiet) queue.on('change', (intent) => tell({ by: 'change', intent }));
}

function authorizer(answer) {
  if (answer.stale) return ({ refresh }) => (refresh ? answer.fresh : answer.stale);
  return answer === 'never' ? () => new Promise(() => {}) : () => answer;
}

const handlers = {
  async takes(outcome) {
    tell({ by: 'outcome', intent: outcome.intent });
  },
  async rejects_once(outcome) {
    const first = !told().some((entry) => entry.by === 'outcome');
    tell({ by: 'outcome', intent: outcome.intent });
    if (first) throw new Error('the shop could not finish the order');
  },
};

const listeners = {
  throws() {
    throw new Error('a listener of the app failed');
  },
  // Everything that a listener can call, from inside the call that told it.
  reenters(intent) {
    queue.intents();
    queue.submit({ operation: intent.operation, reference: intent.reference, request: { method: 'POST', url: '/payments' } }).catch(() => {});
    queue.intent(intent.id).then((found) => found.settled({ within: 1 }));
    queue.on('change', () => {})();
  },
};

async function submit(submission) {
  return receipt(await queue.submit(submission));
}

function receipt(intent) {
  return { intent: intent.snapshot, ...intent.receipt };
}

async function settled(id, within) {
  const intent = await queue.intent(id);
  const known = await intent.settled({ within });
  tell({ by: 'settled', intent: known.intent });
  return known;
}

async function cancel(id) {
  return (await queue.intent(id)).cancel();
}

async function snapshot(id) {
  return (await queue.intent(id))?.snapshot ?? null;
}

/** An error as the tests read it; `printed` is all the text an app could put in a log. */
function failure(error) {
  const { name, code = null, blame = null, remedy = null, detail = null, message, existing = null } = error;
  return { name, code, blame, remedy, detail, message, existing, printed: print(error) };
}

function print(error) {
  if (!(error instanceof Error)) return String(error);
  const own = JSON.stringify(error, Object.getOwnPropertyNames(error));
  return [String(error), error.stack, own, error.cause === undefined ? '' : print(error.cause)].join('\n');
}

window.app = {
  api,
  load,
  open,
  submit,
  receipt,
  settled,
  cancel,
  snapshot,
  told,
  failure,
  intents: () => queue.intents(),
  queue: () => queue,
};
