import type { RawQueue } from './core.js';
import { asIntentoError } from './errors.js';
import { plainSubmission } from './plain.js';
import { shape, type PlainSettled } from './settled.js';
import type { Durability, FetchInit, Intent, IntentRequest, IntentSnapshot, Queue, QueueEvents, Receipt, Settled, StorageLost, Submission } from './types.js';

/** Listeners, and the newest snapshot of each intent that somebody holds. */
export class News {
  readonly #listeners = new Set<(snapshot: IntentSnapshot) => void>();
  readonly #followers = new Set<(snapshot: IntentSnapshot) => void>();

  /** Says whether an app listens; the handles of intents do not count as one. */
  tell(snapshot: IntentSnapshot): boolean {
    for (const follow of [...this.#followers]) follow(snapshot);
    for (const listener of [...this.#listeners]) {
      try {
        listener(snapshot);
      } catch (error) {
        // A listener's failure is the app's to see, and nobody else's to suffer.
        reportError(error);
      }
    }
    return this.#listeners.size > 0;
  }

  /** For the handles of intents, which keep their snapshots new. */
  follow(follower: (snapshot: IntentSnapshot) => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  listen(listener: (snapshot: IntentSnapshot) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export class OpenQueue implements Queue {
  readonly storageLost: StorageLost | null;
  readonly #raw: RawQueue;
  readonly #news: News;
  readonly #keyAt: string | null;
  readonly #released: () => boolean;

  /**
   * `keyAt` says where in a body the key stands, if it does; `released` whether the last holder of this queue has let it
   * go.
   */
  constructor(raw: RawQueue, news: News, storageLost: StorageLost | null, keyAt: string | null, released: () => boolean) {
    this.#raw = raw;
    this.#news = news;
    this.#keyAt = keyAt;
    this.#released = released;
    this.storageLost = storageLost;
  }

  async submit(submission: Submission): Promise<Intent> {
    const plain = plainSubmission(submission, this.#keyAt);
    return this.#stored(() => this.#raw.submit(...plain));
  }

  async fetch(url: string, init: FetchInit): Promise<Settled> {
    const { operation, reference, lane, expiresIn, within, signal, ...request } = init;
    signal?.throwIfAborted();
    const decision = { operation, reference, ...(lane === undefined ? {} : { lane }), request: { ...request, url } };
    const intent = await this.submit(expiresIn === undefined ? decision : { ...decision, expiresIn });
    return intent.settled({ ...(within === undefined ? {} : { within }), ...(signal === undefined ? {} : { signal }) });
  }

  async intents(filter: { state?: IntentSnapshot['state'] } = {}): Promise<IntentSnapshot[]> {
    const all = (await this.#ask(() => this.#raw.intents())) as IntentSnapshot[];
    all.sort((one, other) => one.createdAt - other.createdAt);
    return filter.state === undefined ? all : all.filter((intent) => intent.state === filter.state);
  }

  async intent(id: string): Promise<Intent | null> {
    const found = (await this.#ask(() => this.#raw.intent(String(id)))) as IntentSnapshot | null;
    if (found === null) return null;
    return this.#intent(found, { created: false, durability: this.durability });
  }

  async adopt(fromScope: string): Promise<{ moved: IntentSnapshot[]; left: IntentSnapshot[] }> {
    const scope = typeof fromScope === 'string' ? fromScope : undefined;
    const adopted = (await this.#ask(() => this.#raw.adopt(scope))) as { moved: IntentSnapshot[]; left: IntentSnapshot[] }[];
    return { moved: adopted.flatMap(({ moved }) => moved), left: adopted.flatMap(({ left }) => left) };
  }

  on<E extends keyof QueueEvents>(event: E, listener: (value: QueueEvents[E]) => void): () => void {
    if (event === 'change') return this.#news.listen(listener as (snapshot: IntentSnapshot) => void);
    let listens = true;
    const happened = event === 'storage_lost' ? this.storageLost : this.#degraded(event);
    // It happened before anybody could listen.
    if (happened !== null) queueMicrotask(() => listens && (listener as (value: object) => void)(happened));
    return () => void (listens = false);
  }

  close(): void {
    if (this.#released()) this.#raw.close();
  }

  get durability(): Durability {
    return this.#raw.durability() as Durability;
  }

  #degraded(event: keyof QueueEvents): QueueEvents['degraded'] | null {
    const { durability } = this;
    return event === 'degraded' && durability !== 'strong' ? { durability } : null;
  }

  #intent(snapshot: IntentSnapshot, receipt: Receipt): Intent {
    return new HeldIntent(snapshot, receipt, this.#news, {
      settled: (within) => this.#ask(() => this.#raw.settled(snapshot.id, within)) as Promise<PlainSettled>,
      cancel: () => this.#ask(() => this.#raw.cancel(snapshot.id)) as Promise<IntentSnapshot>,
      resume: () => this.#ask(() => this.#raw.resume(snapshot.id)) as Promise<IntentSnapshot>,
      skip: () => this.#ask(() => this.#raw.skip(snapshot.id)) as Promise<IntentSnapshot>,
      reconcile: () => this.#ask(() => this.#raw.reconcile(snapshot.id)) as Promise<IntentSnapshot>,
      abandon: (reason) => this.#ask(() => this.#raw.abandon(snapshot.id, reason)) as Promise<IntentSnapshot>,
      replace: (submission, reason) => {
        const plain = plainSubmission(submission, this.#keyAt);
        return this.#stored(() => this.#raw.replace(snapshot.id, reason, ...plain));
      },
    });
  }

  async #stored(call: () => Promise<unknown>): Promise<Intent> {
    const { intent, created, durability } = (await this.#ask(call)) as Stored;
    return this.#intent(intent, { created, durability });
  }

  async #ask(call: () => Promise<unknown>): Promise<unknown> {
    try {
      return await call();
    } catch (error) {
      throw asIntentoError(error);
    }
  }
}

/** What the engine answers to a submit. */
interface Stored {
  intent: IntentSnapshot;
  created: boolean;
  durability: Receipt['durability'];
}

/** Rejects when the signal does; the wait it was for is left to end by itself. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function reasonOf(options: { reason: string } | undefined): string {
  return typeof options?.reason === 'string' ? options.reason : '';
}

interface Calls {
  settled(within: number | undefined): Promise<PlainSettled>;
  cancel(): Promise<IntentSnapshot>;
  resume(): Promise<IntentSnapshot>;
  skip(): Promise<IntentSnapshot>;
  reconcile(): Promise<IntentSnapshot>;
  abandon(reason: string): Promise<IntentSnapshot>;
  replace(submission: Submission, reason: string): Promise<Intent>;
}

/** States in which an intent may stand in the way of its lane. */
const UNFINISHED: ReadonlySet<IntentSnapshot['state']> = new Set(['queued', 'sending', 'waiting', 'accepted', 'held']);

class HeldIntent implements Intent {
  readonly receipt: Receipt;
  #snapshot: IntentSnapshot;
  readonly #calls: Calls;

  constructor(snapshot: IntentSnapshot, receipt: Receipt, news: News, calls: Calls) {
    this.receipt = receipt;
    this.#snapshot = snapshot;
    this.#calls = calls;
    // Weakly: an app may hold thousands of intents for a moment, and a queue for a day.
    const self = new WeakRef(this);
    const stop = news.follow((newer) => {
      const intent = self.deref();
      if (intent === undefined) stop();
      else if (newer.id === intent.#snapshot.id) intent.#snapshot = newer;
    });
  }

  get id(): string {
    return this.#snapshot.id;
  }

  get operation(): string {
    return this.#snapshot.operation;
  }

  get reference(): string | null {
    return this.#snapshot.reference;
  }

  get snapshot(): IntentSnapshot {
    return this.#snapshot;
  }

  get safeToReplace(): boolean {
    return this.#snapshot.safeToReplace;
  }

  async settled(options: { within?: number; signal?: AbortSignal } = {}): Promise<Settled> {
    const { within, signal } = options;
    signal?.throwIfAborted();
    const waiting = this.#calls.settled(within);
    const known = shape(await (signal === undefined ? waiting : Promise.race([waiting, aborted(signal)])));
    this.#snapshot = known.intent;
    return known;
  }

  async cancel(): Promise<boolean> {
    this.#snapshot = await this.#calls.cancel();
    return this.#snapshot.state === 'cancelled';
  }

  async resume(): Promise<void> {
    this.#snapshot = await this.#calls.resume();
  }

  async skip(): Promise<boolean> {
    this.#snapshot = await this.#calls.skip();
    return this.#snapshot.lane === null || !UNFINISHED.has(this.#snapshot.state);
  }

  async reconcile(options: { within?: number; signal?: AbortSignal } = {}): Promise<Settled> {
    options.signal?.throwIfAborted();
    this.#snapshot = await this.#calls.reconcile();
    return this.settled(options);
  }

  async abandon(options: { reason: string }): Promise<void> {
    this.#snapshot = await this.#calls.abandon(reasonOf(options));
  }

  async replace(request: IntentRequest, options: { reason: string; expiresIn?: number | null }): Promise<Intent> {
    const { operation, reference } = this.#snapshot;
    const { expiresIn } = options ?? {};
    const decision = { operation, reference, request };
    return this.#calls.replace(expiresIn === undefined ? decision : { ...decision, expiresIn }, reasonOf(options));
  }
}
