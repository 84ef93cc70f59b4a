import { Link } from './bridge-link.js';
import {
  BridgeError, HOST_ASKS, HOST_MEMBER, readMessage, SCAN_PAGE_CHARS,
  type DeviceState, type HostOutcome, type HostVerbs, type PageVerbs, type Refusal,
} from './bridge.js';
import type { HostStorage } from './host-store.js';
import type { AppStore, IntentSnapshot, StoredRow } from './types.js';

/** Within the 30 s that the page's engine gives a handler of outcomes. */
const OUTCOME_DEADLINE_MS = 25_000;

/** Long: a page in the background may not run. */
const STATE_DEADLINE_MS = 60_000;

/** Looking at a server included. */
const COMMAND_DEADLINE_MS = 35_000;

/** How often a webview whose process has died is made anew within {@link RESTARTS_WITHIN_MS}: a page may die of itself. */
const RESTARTS_MAX = 3;
const RESTARTS_WITHIN_MS = 60_000;

/** Sessions of pages that are gone, of which a message may still be on its way. */
const DEAD_SESSIONS_KEPT = 64;

const NONCE_BYTES = 16;

/** What an app tells its side of a webview. */
export interface HostOptions {
  /** The one origin whose pages are listened to, exactly: `https://shop.example`. https, or http on loopback. */
  origin: string;
  /** Where the page's intents are kept. Without it, the page keeps them itself. */
  storage?: HostStorage | undefined;
  /** Whose rows of the storage the page may see; by default its origin's. Name one if the page's origin may change. */
  namespace?: string | undefined;
  /**
   * An outcome, at least once: again if this rejects, takes longer than 25 s, or the app ends meanwhile. Resolving
   * acknowledges it.
   */
  onOutcome?: ((outcome: HostOutcome) => void | Promise<void>) | undefined;
  /** A change of an intent that the page was told of; may be missed. */
  onChange?: ((intent: IntentSnapshot) => void) | undefined;
  /** A message was not listened to. Nothing of what it says is passed on. */
  onRefused?: ((refusal: Refusal) => void) | undefined;
  /** Unpredictable bytes. By default `crypto.getRandomValues`, which React Native has with `react-native-get-random-values`. */
  randomBytes?: ((length: number) => Uint8Array) | undefined;
}

/** What a webview says of a message: `event.nativeEvent` of react-native-webview. */
export interface WebViewMessage {
  /** What the page posted. */
  data: string;
  /** Of the frame that sent it, or of the page. */
  url: string;
}

/**
 * The native side of one webview. Rejections are {@link BridgeError}s: `page_gone` or `timed_out` where the page did not
 * answer, `absent` where it has no queue, `failed` with the code of the queue's error.
 */
export interface IntentoHost {
  /** To be run in the main frame before content loads; new with each life of the webview. */
  readonly script: string;
  /** Has a page been heard of that is there now? */
  readonly connected: boolean;
  /** Counts the lives of the webview: one that has died is to be made anew, not reloaded. */
  readonly lives: () => number;
  /** Tells when {@link lives} or {@link connected} has changed. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Where to run a script in the page; null while there is no webview. */
  attach(run: ((script: string) => void) | null): void;
  /** Takes what a webview hands over. */
  receive(message: WebViewMessage): void;
  /** What the app knows of the device: a reason for the page to look, or to begin nothing. */
  setState(state: Partial<DeviceState>): void;
  /** The webview's process has died. False: it has died too often lately, and is left as it is. */
  restart(): boolean;
  /** The intents of the page's queue, oldest first. */
  intents(): Promise<readonly IntentSnapshot[]>;
  /** True only if the intent was never sent and now never will be. */
  cancel(id: string): Promise<boolean>;
  /** Lets a held intent run again, with the same key. */
  resume(id: string): Promise<void>;
  /** Finds out, without sending again, what became of it. */
  reconcile(id: string): Promise<IntentSnapshot>;
  /** Idempotent: nothing is heard or said any more. */
  close(): void;
}

/** Throws a {@link BridgeError}: `origin_invalid` or `entropy_unavailable`. Needs neither React nor a browser. */
export function createHost(options: HostOptions): IntentoHost {
  return new Host(options);
}

/** The origin of what a webview is to show; null where it would have none (`html` without `baseUrl`), or an insecure one. */
export function originOf(url: string | undefined): string | null {
  // React Native's own URL does not know origins.
  const origin = /^(https:\/\/[^/?#@\\\s]+|http:\/\/(?:localhost|127\.0\.0\.1|10\.0\.2\.2|\[::1\])(?::\d+)?)(?=[/?#]|$)/i.exec(url ?? '')?.[1];
  return origin?.toLowerCase().replace(/^(https:.*):443$|^(http:.*):80$/, '$1$2') ?? null;
}

class Host implements IntentoHost {
  readonly #options: HostOptions;
  readonly #store: AppStore | null;
  readonly #listeners = new Set<() => void>();
  readonly #deadSessions: string[] = [];
  #life = 0;
  #restarts: number[] = [];
  #nonce: string;
  #session: string | null = null;
  #link: Link<PageVerbs, HostVerbs> | null = null;
  #run: ((script: string) => void) | null = null;
  #state: DeviceState = { connected: null, active: true };
  #stateSerial = 0;
  #closed = false;

  constructor(options: HostOptions) {
    if (originOf(options.origin) !== options.origin) throw new BridgeError('origin_invalid', 'origin');
    this.#options = options;
    this.#store = options.storage?.open(options.namespace ?? options.origin) ?? null;
    this.#nonce = nonce(options);
  }

  get script(): string {
    const { origin } = this.#options;
    // A frame, or a page of another origin that the webview has been led to, gets nothing.
    const member = `Object.defineProperty(window, '${HOST_MEMBER}', { value: { nonce: '${this.#nonce}' } })`;
    return `if (window.top === window && location.origin === ${literal(origin)} && !window.${HOST_MEMBER}) ${member}; true;`;
  }

  get connected(): boolean {
    return this.#link !== null;
  }

  readonly lives = (): number => this.#life;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  attach(run: ((script: string) => void) | null): void {
    this.#run = run;
  }

  receive({ data, url }: WebViewMessage): void {
    if (this.#closed) return;
    if (!isAt(this.#options.origin, url)) return this.#refuse('foreign_origin');
    const message = readMessage(data, HOST_ASKS);
    if (typeof message === 'string') return this.#refuse(message);
    if (message.nonce !== this.#nonce) return this.#refuse('wrong_nonce');
    if (message.session !== this.#session && !this.#begins(message)) return this.#refuse('dead_session');
    this.#link?.receive(message);
  }

  setState(state: Partial<DeviceState>): void {
    const { connected = this.#state.connected, active = this.#state.active } = state;
    if (connected === this.#state.connected && active === this.#state.active) return;
    this.#state = { connected, active };
    this.#stateSerial += 1;
    this.#tellState();
  }

  restart(): boolean {
    const now = Date.now();
    this.#restarts = this.#restarts.filter((at) => Math.abs(now - at) < RESTARTS_WITHIN_MS);
    const restarts = this.#restarts.length < RESTARTS_MAX && !this.#closed;
    this.#endSession();
    if (restarts) {
      this.#restarts.push(now);
      this.#nonce = nonce(this.#options);
      this.#life += 1;
    }
    this.#tell();
    return restarts;
  }

  async intents(): Promise<readonly IntentSnapshot[]> {
    return this.#page().ask('intents', {}, COMMAND_DEADLINE_MS);
  }

  async cancel(id: string): Promise<boolean> {
    return this.#page().ask('cancel', { id }, COMMAND_DEADLINE_MS);
  }

  async resume(id: string): Promise<void> {
    await this.#page().ask('resume', { id }, COMMAND_DEADLINE_MS);
  }

  async reconcile(id: string): Promise<IntentSnapshot> {
    return this.#page().ask('reconcile', { id }, COMMAND_DEADLINE_MS);
  }

  close(): void {
    this.#closed = true;
    this.#endSession();
    this.#tell();
  }

  #page(): Link<PageVerbs, HostVerbs> {
    if (this.#link === null) throw new BridgeError('page_gone');
    return this.#link;
  }

  /** As long as the page lives and this is the state: it may not run just now. */
  #tellState(): void {
    const [link, state] = [this.#link, this.#state];
    link?.ask('state', { state, serial: this.#stateSerial }, STATE_DEADLINE_MS).catch(() => {
      if (link === this.#link && state === this.#state) this.#tellState();
    });
  }

  #refuse(refusal: Refusal): void {
    this.#options.onRefused?.(refusal);
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Is this the first of a page that was loaded after all that were heard of? */
  #begins({ session, verb }: { session: string; verb?: string }): boolean {
    if (verb !== 'hello' || this.#deadSessions.includes(session)) return false;
    this.#endSession();
    this.#session = session;
    this.#link = new Link<PageVerbs, HostVerbs>({
      nonce: this.#nonce,
      session,
      send: (text) => this.#send(text),
      run: (asked, ask) => this.#answer(asked, ask),
    });
    this.#tell();
    return true;
  }

  #endSession(): void {
    this.#link?.close();
    this.#link = null;
    if (this.#session !== null) this.#deadSessions.push(this.#session);
    this.#deadSessions.splice(0, this.#deadSessions.length - DEAD_SESSIONS_KEPT);
    this.#session = null;
  }

  /** By then the webview may show another page: the script looks again where it runs. What the text says is a string there. */
  #send(text: string): void {
    const here = `window.top === window && location.origin === ${literal(this.#options.origin)}`;
    try {
      this.#run?.(`if (${here} && window.${HOST_MEMBER}?.receive) window.${HOST_MEMBER}.receive(${literal(text)}); true;`);
    } catch {
      // As if it were lost: it is sent again.
    }
  }

  async #answer<V extends keyof HostVerbs>(verb: V, ask: HostVerbs[V]['ask']): Promise<HostVerbs[V]['answer']> {
    // Admitted as this verb's by `readMessage`.
    const asked = { verb, ask } as { [W in keyof HostVerbs]: { verb: W; ask: HostVerbs[W]['ask'] } }[keyof HostVerbs];
    switch (asked.verb) {
      case 'hello':
        return { state: this.#state, durability: this.#store?.durability ?? null };
      case 'read':
        return this.#stored().read(asked.ask.names);
      case 'scan':
        return scanned(await this.#stored().scan(asked.ask.prefix), asked.ask.after);
      case 'commit':
        return this.#stored().commit(record(asked.ask.expected), record(asked.ask.rows));
      case 'outcome':
        return this.#outcome(asked.ask.outcome);
      case 'change':
        this.#options.onChange?.(asked.ask.intent);
        return null;
    }
  }

  #stored(): AppStore {
    if (this.#store === null) throw new BridgeError('absent', 'storage');
    return this.#store;
  }

  async #outcome(outcome: HostOutcome): Promise<null> {
    const { onOutcome } = this.#options;
    if (onOutcome === undefined) throw new BridgeError('absent', 'onOutcome');
    let overdue: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      overdue = setTimeout(() => reject(new BridgeError('timed_out')), OUTCOME_DEADLINE_MS);
    });
    try {
      await Promise.race([onOutcome(outcome), late]);
    } finally {
      clearTimeout(overdue);
    }
    return null;
  }
}

/** The rows after that name, up to a size that a message can carry. */
function scanned(all: Awaited<ReturnType<AppStore['scan']>>, after: string | null): HostVerbs['scan']['answer'] {
  const left = all.filter(([name]) => after === null || name > after).sort(([one], [other]) => (one < other ? -1 : 1));
  const rows: (readonly [string, StoredRow])[] = [];
  let chars = 0;
  for (const entry of left) {
    if (chars > SCAN_PAGE_CHARS) break;
    rows.push(entry);
    chars += entry[0].length + entry[1].text.length;
  }
  return { rows, more: rows.length < left.length };
}

/** Without a prototype: a page may name anything. */
function record<T>(entries: readonly (readonly [string, T])[]): Record<string, T> {
  const named = Object.create(null) as Record<string, T>;
  for (const [name, value] of entries) named[name] = value;
  return named;
}

/** Android says the origin of the frame, iOS the address of the page. */
function isAt(origin: string, url: unknown): boolean {
  if (typeof url !== 'string' || !url.startsWith(origin)) return false;
  return ['', '/', '?', '#'].includes(url.charAt(origin.length));
}

/** A string of a script, whatever it holds. */
function literal(text: string): string {
  return JSON.stringify(text).replace(/\u2028/g, '\\u2028').replace(/\u2029/g, '\\u2029');
}

function nonce({ randomBytes = platformBytes }: HostOptions): string {
  const bytes = randomBytes(NONCE_BYTES);
  if (!(bytes instanceof Uint8Array) || bytes.length !== NONCE_BYTES) throw new BridgeError('entropy_unavailable', 'randomBytes');
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function platformBytes(length: number): Uint8Array {
  const { crypto } = globalThis as { crypto?: Partial<Crypto> };
  if (typeof crypto?.getRandomValues !== 'function') throw new BridgeError('entropy_unavailable', 'randomBytes');
  return crypto.getRandomValues(new Uint8Array(length));
}
