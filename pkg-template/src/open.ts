import { BackgroundSync } from './background-sync.js';
import { Canary } from './canary.js';
import { canonicalJson } from './canonical-json.js';
import { loadEngine, type Wasm } from './engine.js';
import { appError, asIntentoError } from './errors.js';
import { outgoing, plainFound, plainPrepared, type PlainAnswer, type PlainOutgoing } from './hooks.js';
import { Line } from './line.js';
import { headerPairs, own, plainOptions, type PlainOptions } from './plain.js';
import { News, OpenQueue } from './queue.js';
import { Replies } from './replies.js';
import { shape, type PlainSettled } from './settled.js';
import { MemoryStore, storeCalls } from './store.js';
import type { Authorization, IntentSnapshot, Outcome, Queue, QueueOptions } from './types.js';

interface Holding {
  queue: Promise<Queue>;
  /** What must be the same for a second holder. */
  terms: string;
  holders: number;
}

/** How long after it was opened a queue looks for what need not be kept any more: no customer is to wait for that. */
const PRUNE_AFTER_MS = 5_000;

const holdings = new Map<string, Holding>();

/**
 * The one way to a queue, behind every entry. Queues and the engine are shared by all that is loaded of one copy of the
 * package; `wasm` is called only where there is no engine yet.
 */
export async function open(options: QueueOptions, wasm: Wasm): Promise<Queue> {
  const plain = plainOptions(options);
  const scope = plain.scope ?? '';
  const { scope: _, onOutcome: __, authorize, reconcile, prepare, decode, store, fetch, ...compared } = plain;
  // Callbacks are compared only by whether they are there: a re-render makes new ones.
  const given = [authorize, reconcile, prepare, decode, store, fetch].map((callback) => callback !== null);
  const terms = canonicalJson([compared, given]);
  const holding = holdings.get(scope);
  if (holding !== undefined) {
    if (holding.terms !== terms) {
      throw appError('options_conflict', 'Close the open queue of this scope first, or open it with the same options.');
    }
    holding.holders += 1;
    return holding.queue;
  }
  const opened: Holding = { terms, holders: 1, queue: start(plain, wasm, () => release(scope, opened)) };
  holdings.set(scope, opened);
  opened.queue.catch(() => {
    if (holdings.get(scope) === opened) holdings.delete(scope);
  });
  return opened.queue;
}

/** Lets one holder go; true for the last one. */
function release(scope: string, holding: Holding): boolean {
  holding.holders -= 1;
  if (holding.holders > 0) return false;
  if (holdings.get(scope) === holding) holdings.delete(scope);
  return true;
}

async function start(plain: PlainOptions, wasm: Wasm, released: () => boolean): Promise<Queue> {
  const { authorize, reconcile, prepare, decode, store, fetch, keyAt: _, allowCardData: __, onOutcome, backgroundSync, ...options } = plain;
  const anyStore = store ?? (plain.minDurability === 'volatile' ? new MemoryStore() : null);
  const news = new News();
  const replies = new Replies();
  let canary: Canary | undefined;
  const sync = backgroundSync ? BackgroundSync.ofPage() : null;
  const callbacks = {
    authorize: authorize && (async (refresh: boolean) => credentials(await authorize({ refresh }))),
    reconcile: reconcile && (async (intent: IntentSnapshot, key: string) => plainFound(await reconcile({ intent, key }))),
    fetch,
    prepare: prepare && (async (plainOutgoing: PlainOutgoing) => plainPrepared(await prepare(outgoing(plainOutgoing)))),
    decode: decode && (async (answer: PlainAnswer) => decode({ ...answer, body: answer.body ?? '' })),
    changed: (snapshot: IntentSnapshot) => {
      canary?.note(snapshot);
      sync?.note(snapshot);
      return news.tell(snapshot);
    },
    deliver: async (operation: string, plainOutcome: PlainSettled) => {
      await onOutcome.get(operation)?.(shape(plainOutcome) as Outcome);
      return true;
    },
    ...(anyStore === null ? {} : storeCalls(anyStore)),
  };
  try {
    const line = await Line.open(() => loadEngine(wasm), (engine) => {
      return engine.openRawQueue(canonicalJson(options), plain.baseUrl ?? '', { ...callbacks, ...replies.calls() });
    });
    const { scopeHash, version } = await line.ask(async (raw) => ({ scopeHash: raw.scopeHash(), version: raw.version() }));
    canary = new Canary(scopeHash);
    const queue = new OpenQueue(line, news, await canary.look(line), { ...plain, scopeHash, version }, () => {
      const last = released();
      if (last) sync?.close();
      return last;
    });
    // What cannot be pruned now, because the ledger fails or the queue is closed, is pruned another day.
    setTimeout(() => void queue.prune().catch(() => {}), PRUNE_AFTER_MS);
    return queue;
  } catch (error) {
    sync?.close();
    throw asIntentoError(error);
  }
}

/** What the engine takes of it, as JSON. */
function credentials(authorization: Authorization): string {
  return canonicalJson({ scope: String(own(authorization, 'scope')), headers: headerPairs(own(authorization, 'headers')) });
}
