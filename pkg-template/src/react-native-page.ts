/**
 * `intento/react-native/page`: for the page that an `<IntentoWebView>` shows. Keeps its intents on the native side, tells it
 * of outcomes, and is woken by it.
 */

import { Link } from './bridge-link.js';
import { BridgeError, HOST_MEMBER, PAGE_ASKS, readMessage, type DeviceState, type HostOutcome, type HostVerbs, type PageVerbs } from './bridge.js';
import type { AppStore, Durability, Outcome, Queue, StoredRow } from './types.js';

export { BridgeError } from './bridge.js';
export type { BridgeErrorCode, DeviceState, HostAnswer, HostOutcome } from './bridge.js';

/** How long the host may take to be there: on old Android systems its script comes after the page's first. */
const CONNECT_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 20;

/** More than the host gives the app's handler, and less than the engine gives this one. */
const OUTCOME_DEADLINE_MS = 28_000;

/** A lookup, and a margin within the host's wait. */
const RECONCILE_WITHIN_MS = 30_000;

/** The native side, as the page sees it. */
export interface Host {
  /** For `openQueue`: intents are kept on the native side. Undefined where the app gave its webview no storage. */
  readonly store: AppStore | undefined;
  /** What the app last said of the device. */
  readonly state: DeviceState;
  /**
   * A handler for `onOutcome`: hands the outcome to the app, and acknowledges it when the app has. Neither key nor payload
   * nor the body of the answer goes over.
   */
  readonly onOutcome: (outcome: Outcome) => Promise<void>;
  /** Tells the app of each change, and does what it asks of this queue: the newest one served. Ends with the function returned. */
  serve(queue: Queue): () => void;
}

/**
 * Finds the native side. Rejects with a {@link BridgeError} `host_missing`: the page is in no such webview, is not in its main
 * frame, or has another origin than the webview expects.
 */
export async function connectHost({ within = CONNECT_WITHIN_MS }: { within?: number } = {}): Promise<Host> {
  const until = performance.now() + within;
  for (;;) {
    const member = hostMember();
    const post = webviewPost();
    if (member !== null && post !== null) return ConnectedHost.greet(member, post, Math.max(until - performance.now(), 1));
    if (performance.now() >= until) throw new BridgeError('host_missing');
    await new Promise((done) => setTimeout(done, LOOK_EVERY_MS));
  }
}

interface HostMember {
  nonce: string;
  receive?: (text: string) => void;
}

function hostMember(): HostMember | null {
  const member = (globalThis as { [HOST_MEMBER]?: HostMember })[HOST_MEMBER];
  return typeof member?.nonce === 'string' ? member : null;
}

function webviewPost(): ((text: string) => void) | null {
  const bridge = (globalThis as { ReactNativeWebView?: { postMessage(text: string): void } }).ReactNativeWebView;
  return typeof bridge?.postMessage === 'function' ? (text) => bridge.postMessage(text) : null;
}

class ConnectedHost implements Host {
  readonly store: AppStore | undefined;
  readonly #link: Link<HostVerbs, PageVerbs>;
  #state: DeviceState;
  #stateSerial = 0;
  #queue: Queue | null = null;

  static async greet(member: HostMember, post: (text: string) => void, within: number): Promise<ConnectedHost> {
    let host: ConnectedHost | undefined;
    const session = crypto.randomUUID?.() ?? [...crypto.getRandomValues(new Uint32Array(4))].join('-');
    const link = new Link<HostVerbs, PageVerbs>({
      nonce: member.nonce,
      session,
      send: post,
      run: async (verb, ask) => {
        if (host === undefined) throw new BridgeError('absent');
        return host.#answer(verb, ask);
      },
    });
    member.receive = (text) => {
      const message = readMessage(text, PAGE_ASKS);
      if (typeof message !== 'string' && message.nonce === member.nonce && message.session === session) link.receive(message);
    };
    try {
      const { state, durability } = await link.ask('hello', {}, within);
      host = new ConnectedHost(link, state, durability as Durability | null);
      return host;
    } catch (error) {
      link.close();
      throw error instanceof BridgeError && error.code === 'timed_out' ? new BridgeError('host_missing') : error;
    }
  }

  private constructor(link: Link<HostVerbs, PageVerbs>, state: DeviceState, durability: Durability | null) {
    this.#link = link;
    this.#state = state;
    this.store = durability === null ? undefined : new StoreOverLink(link, durability);
  }

  get state(): DeviceState {
    return this.#state;
  }

  readonly onOutcome = async (outcome: Outcome): Promise<void> => {
    await this.#link.ask('outcome', { outcome: redacted(outcome) }, OUTCOME_DEADLINE_MS);
  };

  serve(queue: Queue): () => void {
    this.#queue = queue;
    // The queue has asked the browser, which may know less.
    if (this.#state.connected === false) window.dispatchEvent(new Event('offline'));
    const stop = queue.on('change', (intent) => {
      // The host may miss a change: it asks for what it needs.
      this.#link.ask('change', { intent }).catch(() => {});
    });
    return () => {
      stop();
      if (this.#queue === queue) this.#queue = null;
    };
  }

  async #answer<V extends keyof PageVerbs>(verb: V, ask: PageVerbs[V]['ask']): Promise<PageVerbs[V]['answer']> {
    // Admitted as this verb's by `readMessage`.
    const asked = { verb, ask } as { [W in keyof PageVerbs]: { verb: W; ask: PageVerbs[W]['ask'] } }[keyof PageVerbs];
    switch (asked.verb) {
      case 'state':
        if (asked.ask.serial > this.#stateSerial) {
          this.#stateSerial = asked.ask.serial;
          this.#tell(asked.ask.state);
        }
        return null;
      case 'intents':
        return this.#served().intents();
      case 'cancel':
        return (await this.#intent(asked.ask.id)).cancel();
      case 'resume':
        await (await this.#intent(asked.ask.id)).resume();
        return null;
      case 'reconcile':
        return (await (await this.#intent(asked.ask.id)).reconcile({ within: RECONCILE_WITHIN_MS })).intent;
    }
  }

  #served(): Queue {
    if (this.#queue === null) throw new BridgeError('absent', 'queue');
    return this.#queue;
  }

  async #intent(id: string) {
    const intent = await this.#served().intent(id);
    if (intent === null) throw new BridgeError('absent', 'intent');
    return intent;
  }

  /** As the browser tells a page: every queue here listens to these, and looks or stops. */
  #tell(state: DeviceState): void {
    const before = this.#state;
    this.#state = state;
    if (before.active && !state.active) document.dispatchEvent(new Event('freeze'));
    if (!before.active && state.active) document.dispatchEvent(new Event('resume'));
    if (state.connected !== before.connected && state.connected !== null) {
      window.dispatchEvent(new Event(state.connected ? 'online' : 'offline'));
    }
  }
}

/** What the host keeps, through the bridge. What is not answered in time has an unknown fate. */
class StoreOverLink implements AppStore {
  readonly durability: Durability;
  readonly #link: Link<HostVerbs, PageVerbs>;

  constructor(link: Link<HostVerbs, PageVerbs>, durability: Durability) {
    this.#link = link;
    this.durability = durability;
  }

  async read(names: readonly string[]): Promise<readonly (StoredRow | null)[]> {
    return this.#link.ask('read', { names });
  }

  async scan(prefix: string): Promise<(readonly [string, StoredRow])[]> {
    const rows: (readonly [string, StoredRow])[] = [];
    for (;;) {
      const page = await this.#link.ask('scan', { prefix, after: rows.at(-1)?.[0] ?? null });
      rows.push(...page.rows);
      if (!page.more || page.rows.length === 0) return rows;
    }
  }

  async commit(expected: Readonly<Record<string, number>>, rows: Readonly<Record<string, StoredRow | null>>): Promise<boolean> {
    return this.#link.ask('commit', { expected: Object.entries(expected), rows: Object.entries(rows) });
  }
}

function redacted(outcome: Outcome): HostOutcome {
  const { kind, durable, intent } = outcome;
  const answer = 'answer' in outcome ? { status: outcome.answer.status, resource: outcome.answer.resource } : null;
  return { kind, durable, intent, answer };
}
