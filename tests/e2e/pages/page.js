// An app that does what the tests tell it, and writes down everything it is told.
import { submitMany } from '/many.js';

const TOLD = 'told';
const AHEAD = 'clock_ahead_ms';
const api = new URLSearchParams(location.search).get('api');
let queue = null;
let copy = null;

// The device's clock, as far as a page can see it; moved for the page that is loaded next.
const aheadMs = Number(sessionStorage.getItem(AHEAD) ?? 0);
const now = Date.now;
Date.now = () => now() + aheadMs;

// What this tab's browser does not have, for every page that is loaded into it.
const WITHOUT = 'without';
const missing = () => JSON.parse(sessionStorage.getItem(WITHOUT) ?? '[]');
function take(name) {
  const path = name.split('.');
  const last = path.pop();
  const owner = path.reduce((object, member) => object[member], globalThis);
  Object.defineProperty(owner, last, { value: undefined, configurable: true });
}
missing().forEach(take);

function without(name) {
  sessionStorage.setItem(WITHOUT, JSON.stringify([...missing(), name]));
  take(name);
}

/** Kept in the tab, so that a reload forgets nothing. */
function tell(entry) {
  sessionStorage.setItem(TOLD, JSON.stringify([...told(), entry]));
}

function told() {
  return JSON.parse(sessionStorage.getItem(TOLD) ?? '[]');
}

/** Loads the package only now: a test may have taken something away from the page before. */
async function load() {
  const [{ openQueue }, contracts] = await Promise.all([import('/pkg/index.js'), import('/pkg/contracts.js')]);
  return { openQueue, generic: contracts.generic, contracts };
}

/**
 * Opens the queue. `authorize`, `listener`, `handler`, `reconcile`, `prepare` and `decode` name a behaviour; `contract` is
 * the name of one that ships, or one of the app's own, which `extends` such a name; the other options go to `openQueue`
 * as they are.
 */
async function open({ authorize, listener, handler, contract, reconcile, prepare, decode, quiet = false, probe = true, ...options } = {}) {
  const { openQueue, contracts } = await load();
  queue = await openQueue({
    scope: 'shopper',
    contract: contractOf(contracts, contract ?? 'generic'),
    baseUrl: api,
    ...(reconcile === undefined ? {} : { reconcile: reconciler(reconcile) }),
    ...(prepare === undefined ? {} : { prepare: preparers[prepare] }),
    ...(decode === undefined ? {} : { decode: decoders[decode] }),
    ...(probe ? { probeUrl: `${api}/health` } : {}),
    ...(authorize === undefined ? {} : { authorize: authorizer(authorize) }),
    ...(handler === undefined ? {} : { onOutcome: { 'authorize-payment': handlers[handler] } }),
    ...options,
  });
  if (listener) queue.on('change', listeners[listener]);
  if (!quiet) queue.on('change', (intent) => tell({ by: 'change', intent }));
}

function contractOf(contracts, named) {
  if (typeof named === 'string') return contracts[named];
  return contracts.defineContract({ ...named, extends: contracts[named.extends] });
}

/** Says so, or asks the server there, and writes down that it was asked. */
function reconciler(finding) {
  return async ({ intent, key }) => {
    sessionStorage.setItem('asked', JSON.stringify([...asked(), { id: intent.id, key }]));
    if (finding === 'throws') throw new Error('the shop could not be asked');
    return finding.ask === undefined ? finding : lookUp(finding.ask, key);
  };
}

async function lookUp(path, key) {
  const answer = await fetch(`${api}${path}`, { method: 'POST', headers: { 'Idempotency-Key': key } });
  const { result, sealed, response } = await answer.json();
  if (result === 'applied') return { kind: 'applied', response };
  return sealed === true ? { kind: 'not_applied', sealed } : { kind: 'unknown' };
}

function asked() {
  return JSON.parse(sessionStorage.getItem('asked') ?? '[]');
}

const preparers = {
  /** Another text of the same JSON on every attempt, as a fresh signature would make it. */
  pads: ({ attempt, body }) => ({ body: body + ' '.repeat(attempt) }),
  /** Longer than a lease of the shortest attempt; the browser has no other thread for this page. */
  blocks_once({ body }) {
    const blocked = localStorage.getItem('blocked') === null;
    localStorage.setItem('blocked', 'once');
    for (const end = Date.now() + (blocked ? 9_000 : 0); Date.now() < end; );
    return { body };
  },
  async fails_once() {
    if (sessionStorage.getItem('prepared')) return {};
    sessionStorage.setItem('prepared', 'once');
    throw new Error('the signer is not there yet');
  },
};

const decoders = {
  html: ({ mediaType }) => (mediaType === 'text/html' ? { says: 'portal' } : undefined),
  async throws() {
    throw new Error('unreadable');
  },
};

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

async function reconcile(id, within) {
  const known = await (await queue.intent(id)).reconcile({ within });
  tell({ by: 'settled', intent: known.intent });
  return known;
}

async function cancel(id) {
  return (await queue.intent(id)).cancel();
}

async function snapshot(id) {
  return (await queue.intent(id))?.snapshot ?? null;
}

/** The queue of another build of the package, loaded beside the first: the same scope, another realm. */
async function openCopy(options = {}) {
  const [{ openQueue }, { generic }] = await Promise.all([import('/pkg-again/index.js'), import('/pkg-again/contracts.js')]);
  copy = await openQueue({ scope: 'shopper', contract: generic, baseUrl: api, probeUrl: `${api}/health`, ...options });
}

const workers = new Map();

/** Starts `realm.js` in a worker of this page (`dedicated`), or as the origin's service worker (`service`). */
async function startWorker(kind) {
  if (kind === 'dedicated') return workers.set(kind, new Worker('/realm.js', { type: 'module' }));
  await navigator.serviceWorker.register('/realm.js', { type: 'module' });
  return workers.set(kind, (await navigator.serviceWorker.ready).active);
}

/** What a worker's function of that name comes to. */
function ask(kind, name, ...args) {
  const { port1, port2 } = new MessageChannel();
  workers.get(kind).postMessage({ name, args }, [port2]);
  return new Promise((done, failed) => {
    port1.onmessage = ({ data: { ok, error } }) => {
      port1.close();
      if (error === undefined) done(ok);
      else failed(Object.assign(new Error(error.message), error));
    };
  });
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
  without,
  load,
  open,
  submit,
  submitMany: (...decisions) => submitMany(submit, ...decisions),
  openCopy,
  copy: () => copy,
  submitManyToCopy: (...decisions) => submitMany(async (submission) => receipt(await copy.submit(submission)), ...decisions),
  startWorker,
  ask,
  endWorker: () => workers.get('dedicated').terminate(),
  receipt,
  settled,
  reconcile,
  asked,
  cancel,
  snapshot,
  told,
  failure,
  intents: () => queue.intents(),
  queue: () => queue,
};
