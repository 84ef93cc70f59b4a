/** What the hooks of `./react` render: one queue, and snapshots of its intents that stay the same object until they change. */

import type { IntentsState, IntentState, QueueState } from './react-states.js';
import type { Intent, IntentName, IntentSnapshot, Queue } from './types.js';

const OPENING = { status: 'opening', error: null } as const;
const NO_INTENTS: readonly IntentSnapshot[] = [];
const OPENING_QUEUE: QueueState = { ...OPENING, queue: null };
const OPENING_INTENT: IntentState = { ...OPENING, intent: null, snapshot: null };
const OPENING_INTENTS: IntentsState = { ...OPENING, intents: NO_INTENTS };
const ABSENT: IntentState = { status: 'absent', intent: null, snapshot: null, error: null };

/** What a server renders, and a browser first. */
export const NEVER = {
  queue: () => OPENING_QUEUE,
  intent: () => OPENING_INTENT,
  intents: () => OPENING_INTENTS,
};

const UNFINISHED: ReadonlySet<IntentSnapshot['state']> = new Set(['queued', 'sending', 'waiting', 'accepted']);

/** Those who are rendered again when something changes. */
class Rendered {
  readonly #all = new Set<() => void>();
  readonly #used: (used: boolean) => void;

  /** `used` hears whether there is anybody. */
  constructor(used: (used: boolean) => void = () => {}) {
    this.#used = used;
  }

  readonly subscribe = (render: () => void): (() => void) => {
    this.#all.add(render);
    if (this.#all.size === 1) this.#used(true);
    return () => {
      this.#all.delete(render);
      if (this.#all.size === 0) this.#used(false);
    };
  };

  again(): void {
    for (const render of [...this.#all]) render();
  }
}

/** What is looked up in the queue and rendered, for as long as somebody renders it. */
abstract class Followed<S> {
  readonly #rendered: Rendered;
  #state: S;
  /** Of the lookups; an older one has nothing to say any more. */
  #latest = 0;

  constructor(board: Board, opening: S) {
    this.#state = opening;
    this.#rendered = new Rendered((used) => (used ? board.follow(this) : board.unfollow(this)));
  }

  get subscribe(): (render: () => void) => () => void {
    return this.#rendered.subscribe;
  }

  readonly read = (): S => this.#state;

  abstract open(queue: Queue): void;
  abstract change(snapshot: IntentSnapshot, queue: Queue): void;
  abstract failed(error: unknown): S;

  fail(error: unknown): void {
    this.#latest += 1;
    this.become(this.failed(error));
  }

  /** Nothing that was asked of the queue that was there counts any more. */
  forget(): void {
    this.#latest += 1;
  }

  protected become(state: S): void {
    this.#state = state;
    this.#rendered.again();
  }

  protected look<T>(lookup: Promise<T>, found: (value: T) => S): void {
    const asked = ++this.#latest;
    lookup.then((value) => asked === this.#latest && this.become(found(value)), (error: unknown) => asked === this.#latest && this.fail(error));
  }
}

class FollowedIntent extends Followed<IntentState> {
  readonly #name: IntentName;

  constructor(board: Board, name: IntentName) {
    super(board, OPENING_INTENT);
    this.#name = name;
  }

  override open(queue: Queue): void {
    this.look(queue.intent(this.#name), stateOf);
  }

  override change({ operation, reference }: IntentSnapshot, queue: Queue): void {
    // The ledger knows which of them the reference stands for now.
    if (operation === this.#name.operation && reference === this.#name.reference) this.open(queue);
  }

  override failed(error: unknown): IntentState {
    return { status: 'failed', intent: null, snapshot: null, error };
  }
}

class FollowedIntents extends Followed<IntentsState> {
  #known = new Map<string, IntentSnapshot>();

  constructor(board: Board) {
    super(board, OPENING_INTENTS);
  }

  override open(queue: Queue): void {
    this.#known = new Map();
    this.look(queue.intents(), (listed) => {
      // What has changed meanwhile is newer.
      this.#known = new Map([...listed.map((intent) => [intent.id, intent] as const), ...this.#known]);
      return this.#listed();
    });
  }

  override change(snapshot: IntentSnapshot): void {
    this.#known.set(snapshot.id, snapshot);
    if (this.read().status === 'open') this.become(this.#listed());
  }

  override failed(error: unknown): IntentsState {
    return { status: 'failed', intents: NO_INTENTS, error };
  }

  #listed(): IntentsState {
    const intents = [...this.#known.values()].sort((one, other) => one.createdAt - other.createdAt);
    return { status: 'open', intents, error: null };
  }
}

/** One mounted provider's queue. */
export class Board {
  readonly #open: () => Queue | Promise<Queue>;
  readonly #owned: boolean;
  readonly #rendered = new Rendered();
  readonly #followed = new Set<Followed<unknown>>();
  #state: QueueState = OPENING_QUEUE;
  /** Each mount has a number: only the last one's queue counts. */
  #mount = 0;
  /** Those who submit before the queue is open. */
  #waiting: { opened: (queue: Queue) => void; failed: (error: unknown) => void }[] = [];
  /** One list, however many components show it. */
  readonly all: Pick<Followed<IntentsState>, 'subscribe' | 'read'> = new FollowedIntents(this);

  /** `owned`: what was opened is closed again. */
  constructor(open: () => Queue | Promise<Queue>, { owned }: { owned: boolean }) {
    this.#open = open;
    this.#owned = owned;
  }

  /** Opens the queue; what is returned closes it. */
  mount(): () => void {
    const mount = ++this.#mount;
    const opening = (async () => this.#open())();
    let unlisten = () => {};
    opening.then((queue) => {
      if (mount !== this.#mount) return;
      unlisten = queue.on('change', (snapshot) => this.#followed.forEach((followed) => followed.change(snapshot, queue)));
      this.#become({ status: 'open', queue, error: null });
    }, (error: unknown) => {
      if (mount === this.#mount) this.#become({ status: 'failed', queue: null, error });
    });
    return () => {
      this.#mount += 1;
      unlisten();
      // What is shown stays until the next mount, if there is one, knows better.
      this.#state = OPENING_QUEUE;
      this.#followed.forEach((followed) => followed.forget());
      if (this.#owned) opening.then((queue) => queue.close(), () => {});
    };
  }

  /** Rejects with why it could not be opened. */
  async opened(): Promise<Queue> {
    const { status, queue, error } = this.#state;
    if (status === 'open') return queue;
    if (status === 'failed') throw error;
    return new Promise((opened, failed) => this.#waiting.push({ opened, failed }));
  }

  readonly read = (): QueueState => this.#state;

  get subscribe(): (render: () => void) => () => void {
    return this.#rendered.subscribe;
  }

  intent(name: IntentName): Pick<Followed<IntentState>, 'subscribe' | 'read'> {
    return new FollowedIntent(this, name);
  }

  follow(followed: Followed<unknown>): void {
    this.#followed.add(followed);
    this.#tell(followed);
  }

  unfollow(followed: Followed<unknown>): void {
    this.#followed.delete(followed);
    followed.forget();
  }

  #become(state: QueueState): void {
    this.#state = state;
    const waiting = this.#waiting.splice(0);
    for (const { opened, failed } of waiting) {
      if (state.status === 'open') opened(state.queue);
      else failed(state.error);
    }
    this.#rendered.again();
    this.#followed.forEach((followed) => this.#tell(followed));
  }

  #tell(followed: Followed<unknown>): void {
    const { status, queue, error } = this.#state;
    if (status === 'open') followed.open(queue);
    else if (status === 'failed') followed.fail(error);
  }
}

function stateOf(intent: Intent | null): IntentState {
  if (intent === null) return ABSENT;
  const { snapshot } = intent;
  const status = snapshot.state === 'held' ? 'held' : UNFINISHED.has(snapshot.state) ? 'unfinished' : 'ended';
  return { status, intent, snapshot, error: null };
}
