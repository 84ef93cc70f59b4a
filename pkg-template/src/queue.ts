import type { RawQueue } from './core.js';
import { diagnose, UNFINISHED, type About } from './diagnostics.js';
import { examine } from './doctor.js';
import type { Line } from './line.js';
import { seal, unseal } from './parcel.js';
import { own, plainName, plainSubmission, plainWait } from './plain.js';
import { shape, type PlainSettled } from './settled.js';
import type { Diagnostics, DoctorFinding, Drained, Durability, FetchInit, Intent, IntentName, IntentRequest, IntentSnapshot, Moved, ParcelSecret, Queue, QueueEvents, Receipt, Settled, StorageLost, Submission } from './types.js';

/** Default patience of `drained()`, and how often it looks. */
const DRAINED_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 200;

/** Listeners, and the newest snapshot of each intent that somebody holds. */
export class News {
  readonly #listeners = new Set<(snapshot: IntentSnapshot) => void>();
  /** By intent: a queue may hold thousands, and each change concerns one. */
  readonly #followers = new Map<string, Set<(snapshot: IntentSnapshot) => void>>();

  /** Says whether an app listens; the handles of intents do not count as one. */
  tell(snapshot: IntentSnapshot): boolean {
    for (const follow of [...(this.#followers.get(snapshot.id) ?? [])]) follow(snapshot);
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

  /** For the handles of an intent, which keep their snapshots new. */
  follow(id: string, follower: (snapshot: IntentSnapshot) => void): () => void {
    const followers = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, followers.add(follower));
    return () => {
      followers.delete(follower);
      if (followers.size === 0 && this.#followers.get(id) === followers) this.#followers.delete(id);
    };
  }

  listen(listener: (snapshot: IntentSnapshot) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export class OpenQueue implements Queue {
  readonly storageLost: StorageLost | null;
  readonly #line: Line;
  readonly #news: News;
  readonly #about: About;
  readonly #released: () => boolean;
  #durability: Durability = 'volatile';

  /** `released` says whether the last holder of this queue has let it go. */
  constructor(line: Line, news: News, storageLost: StorageLost | null, about: About, released: () => boolean) {
    this.#line = line;
    this.#news = news;
    this.#about = about;
    this.#released = released;
    this.storageLost = storageLost;
  }

  async submit(submission: Submission): Promise<Intent> {
    const { plain, hasReference } = plainSubmission(submission, this.#about);
    // A decision that is made again is known by its reference.
    return this.#stored((raw) => raw.submit(...plain), { once: !hasReference });
  }

  async fetch(url: string, init: FetchInit): Promise<Settled> {
    const [within, signal] = plainWait(init);
    signal?.throwIfAborted();
    const decision = given(init, ['operation', 'reference', 'lane', 'expiresIn']);
    const intent = await this.submit({ ...decision, request: { ...init, url } } as Submission);
    return intent.settled(given({ within, signal }, ['within', 'signal']));
  }

  async intents(filter: { state?: IntentSnapshot['state'] } = {}): Promise<IntentSnapshot[]> {
    const all = (await this.#line.ask((raw) => raw.intents())) as IntentSnapshot[];
    all.sort((one, other) => one.createdAt - other.createdAt);
    const state = own(filter, 'state');
    return state === undefined ? all : all.filter((intent) => intent.state === state);
  }

  async intent(named: string | IntentName): Promise<Intent | null> {
    const name = plainName(named);
    const found = (await this.#line.ask((raw) => raw.intent(...name))) as IntentSnapshot | null;
    if (found === null) return null;
    return this.#intent(found, { created: false, durability: this.durability });
  }

  async adopt(fromScope: string): Promise<{ moved: IntentSnapshot[]; left: IntentSnapshot[] }> {
    const scope = typeof fromScope === 'string' ? fromScope : undefined;
    const adopted = (await this.#line.ask((raw) => raw.adopt(scope))) as { moved: IntentSnapshot[]; left: IntentSnapshot[] }[];
    return { moved: adopted.flatMap(({ moved }) => moved), left: adopted.flatMap(({ left }) => left) };
  }

  async drained(options: { within?: number } = {}): Promise<Drained> {
    const [within = DRAINED_WITHIN_MS] = plainWait(options);
    const until = performance.now() + within;
    for (;;) {
      const { busy, ...drained } = (await this.#line.ask((raw) => raw.outlook())) as Outlook;
      const leftMs = until - performance.now();
      const later = drained.nextAt === null || drained.nextAt - Date.now() > leftMs;
      if (leftMs <= 0 || (!busy && drained.due === 0 && later)) return drained;
      await new Promise((over) => setTimeout(over, Math.min(leftMs, LOOK_EVERY_MS)));
    }
  }

  async purge(): Promise<IntentSnapshot[]> {
    return ((await this.#sweep('purge')) as IntentSnapshot[][]).flat();
  }

  async move(options: { secret: ParcelSecret }): Promise<Moved> {
    // Before anything is held: with a secret that is none there would be no parcel.
    await seal([], options);
    const parts = (await this.#sweep('move')) as Moved[];
    const parcel = await seal(parts.map((part) => part.parcel), options);
    return { parcel, moved: parts.flatMap(({ moved }) => moved), left: parts.flatMap(({ left }) => left) };
  }

  async receive(parcel: string, options: { secret: ParcelSecret }): Promise<IntentSnapshot[]> {
    const received: IntentSnapshot[] = [];
    for (const part of await unseal(String(parcel), options)) {
      received.push(...((await this.#line.ask((raw) => raw.receive(part))) as IntentSnapshot[]));
    }
    return received;
  }

  /** Has the engine take away what it need not keep any more, of the oldest intents. */
  async prune(): Promise<void> {
    await this.#sweep('prune', PRUNED_PAGES_MAX);
  }

  /** What the engine says to each page of each ledger, until there is none left. */
  async #sweep(work: 'purge' | 'prune' | 'move', pagesMax = Infinity): Promise<unknown[]> {
    const all: unknown[] = [];
    for (let ledger = 0, pages = 0; ; ledger += 1) {
      for (let from: number | undefined = 0; from !== undefined; pages += 1) {
        const begin: number = from;
        const page = (await this.#line.ask((raw) => raw.sweep(ledger, begin, work))) as [next: number | undefined, done: unknown] | null;
        if (page === null || pages >= pagesMax) return all;
        if (page[1] !== undefined) all.push(page[1]);
        from = page[0];
      }
    }
  }

  on<E extends keyof QueueEvents>(event: E, listener: (value: QueueEvents[E]) => void): () => void {
    if (event === 'change') return this.#news.listen(listener as (snapshot: IntentSnapshot) => void);
    let listens = true;
    const happened = event === 'storage_lost' ? this.storageLost : this.#degraded(event);
    // It happened before anybody could listen.
    if (happened !== null) queueMicrotask(() => listens && (listener as (value: object) => void)(happened));
    return () => void (listens = false);
  }

  diagnostics(options: { references?: boolean } = {}): Promise<Diagnostics> {
    return diagnose(this.#line, this.#about, this.durability, own(options, 'references') === true);
  }

  doctor(): Promise<DoctorFinding[]> {
    return examine(this.#line, this.#about, this.durability);
  }

  close(): void {
    if (this.#released()) this.#line.close();
  }

  get durability(): Durability {
    // Between two engines, what it was before.
    this.#durability = (this.#line.raw?.durability() as Durability | undefined) ?? this.#durability;
    return this.#durability;
  }

  #degraded(event: keyof QueueEvents): QueueEvents['degraded'] | null {
    const { durability } = this;
    return event === 'degraded' && durability !== 'strong' ? { durability } : null;
  }

  #intent(snapshot: IntentSnapshot, receipt: Receipt): Intent {
    return new HeldIntent(snapshot, receipt, this.#news, {
      settled: (within) => {
        const asked = performance.now();
        const left = () => (within === undefined ? within : within - (performance.now() - asked));
        return this.#line.ask((raw) => raw.settled(snapshot.id, left())) as Promise<PlainSettled>;
      },
      cancel: () => this.#line.ask((raw) => raw.cancel(snapshot.id)) as Promise<IntentSnapshot>,
      resume: () => this.#line.ask((raw) => raw.resume(snapshot.id)) as Promise<IntentSnapshot>,
      skip: () => this.#line.ask((raw) => raw.skip(snapshot.id)) as Promise<IntentSnapshot>,
      reconcile: () => this.#line.ask((raw) => raw.reconcile(snapshot.id)) as Promise<IntentSnapshot>,
      abandon: (reason) => this.#line.ask((raw) => raw.abandon(snapshot.id, reason)) as Promise<IntentSnapshot>,
      replace: (submission, reason) => {
        const { plain } = plainSubmission(submission, this.#about);
        return this.#stored((raw) => raw.replace(snapshot.id, reason, ...plain));
      },
    });
  }

  async #stored(call: (raw: RawQueue) => Promise<unknown>, times?: { once: boolean }): Promise<Intent> {
    const { intent, created, durability } = (await this.#line.ask(call, times)) as Stored;
    return this.#intent(intent, { created, durability });
  }
}

/** What the engine knows. */
interface Outlook extends Drained {
  /** Is something under way here? */
  busy: boolean;
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
  const reason = own(options, 'reason');
  return typeof reason === 'string' ? reason : '';
}

/** The own members of these names that are not undefined. */
function given<T extends object, K extends keyof T & string>(from: T, names: readonly K[]): { [N in K]?: Exclude<T[N], undefined> } {
  const members = names.map((name) => [name, own(from, name)]);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined)) as { [N in K]?: Exclude<T[N], undefined> };
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

/** Pages of 32 intents that one queue looks through, once after it was opened, for what need not be kept any more. */
const PRUNED_PAGES_MAX = 32;

/** Handles that the app holds no more need no news. */
const forgotten = /* @__PURE__ */ new FinalizationRegistry<() => void>((stop) => stop());

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
    const stop = news.follow(snapshot.id, (newer) => {
      const intent = self.deref();
      if (intent !== undefined) intent.#snapshot = newer;
    });
    forgotten.register(this, stop);
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
    const [within, signal] = plainWait(options);
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
    const [within, signal] = plainWait(options);
    signal?.throwIfAborted();
    this.#snapshot = await this.#calls.reconcile();
    return this.settled(given({ within, signal }, ['within', 'signal']));
  }

  async abandon(options: { reason: string }): Promise<void> {
    this.#snapshot = await this.#calls.abandon(reasonOf(options));
  }

  async replace(request: IntentRequest, options: { reason: string; expiresIn?: number | null }): Promise<Intent> {
    const { operation, reference } = this.#snapshot;
    const decision = { operation, reference, request, ...given(options, ['expiresIn']) };
    return this.#calls.replace(decision, reasonOf(options));
  }
}
