import { ASKS_MAX, BridgeError, writeMessage, type Answer, type Ask, type BridgeErrorCode, type Verbs } from './bridge.js';

/** The first pause before an ask is sent again; each is twice the one before, up to the longest. */
const AGAIN_MIN_MS = 200;
const AGAIN_MAX_MS = 2_000;

/** At most so long may the other side take, unless the call says otherwise. Shorter than the engine waits for a store. */
const ASK_DEADLINE_MS = 8_000;

export interface LinkOptions<Theirs extends Verbs> {
  nonce: string;
  session: string;
  send: (text: string) => void;
  /** Runs what the other side asks. */
  run: <V extends keyof Theirs & string>(verb: V, ask: Theirs[V]['ask']) => Promise<Theirs[V]['answer']>;
}

interface Waiting {
  done: (value: unknown) => void;
  failed: (error: BridgeError) => void;
  again: ReturnType<typeof setTimeout> | undefined;
  deadline: ReturnType<typeof setTimeout> | undefined;
}

/**
 * One side of a bridge, for one session: asks what `Ours` lists, runs what `Theirs` does. Whether a message may come in at
 * all is decided before {@link Link.receive}.
 */
export class Link<Ours extends Verbs, Theirs extends Verbs> {
  readonly #options: LinkOptions<Theirs>;
  readonly #waiting = new Map<number, Waiting>();
  /** Asks that could not be sent yet, in order. */
  readonly #queued: (() => void)[] = [];
  /** What was answered, as text; null while it is being run. */
  readonly #answered = new Map<number, string | null>();
  #last = 0;
  /** The other side's greatest id, and those up to it for which it may still wait. */
  #theirLast = 0;
  #theirWaits: ReadonlySet<number> = new Set();
  #closed = false;

  constructor(options: LinkOptions<Theirs>) {
    this.#options = options;
  }

  /** Rejects with a {@link BridgeError}. */
  async ask<V extends keyof Ours & string>(verb: V, ask: Ours[V]['ask'], deadlineMs = ASK_DEADLINE_MS): Promise<Ours[V]['answer']> {
    if (this.#closed) throw new BridgeError('page_gone');
    if (this.#waiting.size >= ASKS_MAX) await new Promise<void>((turn) => this.#queued.push(turn));
    if (this.#closed) throw new BridgeError('page_gone');
    return new Promise<Ours[V]['answer']>((done, failed) => {
      const id = (this.#last += 1);
      const waiting: Waiting = { done, failed, again: undefined, deadline: undefined };
      this.#waiting.set(id, waiting);
      waiting.deadline = setTimeout(() => this.#settle(id)?.failed(new BridgeError('timed_out')), deadlineMs);
      try {
        this.#send(id, verb, ask, AGAIN_MIN_MS);
      } catch (error) {
        this.#settle(id)?.failed(bridgeError(error));
      }
    });
  }

  receive(message: Ask | Answer): void {
    if (this.#closed) return;
    if ('verb' in message) this.#run(message);
    else this.#take(message);
  }

  /** Idempotent. What waits is rejected with `page_gone`; what comes in afterwards is ignored. */
  close(): void {
    this.#closed = true;
    for (const id of [...this.#waiting.keys()]) this.#settle(id)?.failed(new BridgeError('page_gone'));
    for (const turn of this.#queued.splice(0)) turn();
    this.#answered.clear();
  }

  #send(id: number, verb: string, ask: object, againMs: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    const { nonce, session, send } = this.#options;
    waiting.again = setTimeout(() => this.#send(id, verb, ask, Math.min(againMs * 2, AGAIN_MAX_MS)), againMs);
    const message = { intento: 1, nonce, session, id, last: this.#last, waits: [...this.#waiting.keys()], verb, with: ask } as const;
    send(writeMessage(message));
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    clearTimeout(waiting?.again);
    clearTimeout(waiting?.deadline);
    this.#waiting.delete(id);
    this.#queued.shift()?.();
    return waiting;
  }

  #take({ id, ok, failed }: Answer): void {
    if (!this.#waiting.has(id)) return;
    const waiting = this.#settle(id);
    if (failed === undefined) waiting?.done(ok);
    else waiting?.failed(new BridgeError(failed.code, failed.detail));
  }

  #run({ id, last, waits, verb, with: ask }: Ask): void {
    this.#forget(last, waits);
    const before = this.#answered.get(id);
    if (typeof before === 'string') this.#options.send(before);
    if (before !== undefined || !this.#theirWaits.has(id)) return;
    this.#answered.set(id, null);
    this.#options.run(verb, ask).then(
      (ok) => this.#answer(id, { ok: ok ?? null }),
      (error: unknown) => this.#answer(id, { failed: failure(error) }),
    );
  }

  /** What the asker has stopped to wait for it never waits for again, whichever of its messages comes first. */
  #forget(last: number, waits: readonly number[]): void {
    const named = new Set(waits);
    const known = last < this.#theirLast ? this.#theirWaits : named;
    this.#theirWaits = new Set(
      [...known].filter((id) => (id > last || named.has(id)) && (id > this.#theirLast || this.#theirWaits.has(id))),
    );
    this.#theirLast = Math.max(last, this.#theirLast);
    for (const id of [...this.#answered.keys()]) {
      if (!this.#theirWaits.has(id)) this.#answered.delete(id);
    }
  }

  #answer(id: number, what: Pick<Answer, 'ok' | 'failed'>): void {
    if (this.#closed || !this.#answered.has(id)) return;
    const { nonce, session, send } = this.#options;
    const envelope = { intento: 1, nonce, session, id } as const;
    const text = written({ ...envelope, ...what }) ?? writeMessage({ ...envelope, failed: { code: 'too_large', detail: null } });
    this.#answered.set(id, text);
    send(text);
  }
}

function written(message: Answer): string | null {
  try {
    return writeMessage(message);
  } catch {
    return null;
  }
}

/** Codes cross, texts do not: what an app's error says is its own. */
function failure(error: unknown): { code: BridgeErrorCode; detail: string | null } {
  if (error instanceof BridgeError) return { code: error.code, detail: error.detail };
  const code = typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
  return { code: 'failed', detail: typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? code : null };
}

function bridgeError(error: unknown): BridgeError {
  return error instanceof BridgeError ? error : new BridgeError('failed');
}
