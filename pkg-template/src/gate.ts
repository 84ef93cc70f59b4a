import { reportDeath } from './errors.js';

/** What the glue takes of the platform, so that it can be taken back. */
export interface Platform {
  AbortController: typeof AbortController;
  navigator: { locks: { request: typeof requestLock } };
  IDBDatabase: { prototype: { transaction: { call: (database: IDBDatabase, ...args: Begin) => IDBTransaction } } };
}

type Begin = Parameters<IDBDatabase['transaction']>;

/** A call was under way, or was made, when its engine died. */
export class EngineGone extends Error {
  override readonly name = 'EngineGone';
}

/**
 * The one way into an instance of the module and out of it. Whatever an instance throws leaves it half done: Rust has neither
 * released what it held nor ended what it began (hazards W1, W11). From then on nothing goes in and nothing comes out: its
 * requests and transactions are aborted, then its locks released (P1.3), and those who wait for it are told.
 */
export class Gate {
  readonly platform: Platform;
  #dead = false;
  #cause: unknown;
  readonly #requests = new Set<AbortController>();
  readonly #transactions = new Set<IDBTransaction>();
  readonly #locks = new Set<() => void>();
  readonly #mourners = new Set<() => void>();

  constructor() {
    this.platform = {
      AbortController: counted(this.#requests),
      navigator: { locks: { request: (name, options, granted) => requestLock(name, options, (lock) => this.#hold(granted(lock))) } },
      IDBDatabase: { prototype: { transaction: { call: (database, ...args) => this.#begun(database.transaction(...args)) } } },
    };
  }

  /** What an instance imports, guarded. */
  imports(imports: WebAssembly.Imports): WebAssembly.Imports {
    return mapped(imports, (namespace) => mapped(namespace, (member) => this.#guarded(member, this.#out)));
  }

  /** What an instance exports, guarded. */
  exports(exports: WebAssembly.Exports): WebAssembly.Exports {
    return mapped(exports, (member) => this.#guarded(member, this.#in));
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Hears of the death of an instance that is alive, once; what is returned ends that. */
  onDeath(mourner: () => void): () => void {
    this.#mourners.add(mourner);
    return () => this.#mourners.delete(mourner);
  }

  /** What a call into the instance comes to. Rejects with `EngineGone` if the instance is dead, or dies before the answer. */
  outlive<T>(call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const gone = () => reject(new EngineGone('The engine died.', { cause: this.#cause }));
      if (this.#dead) return gone();
      const forget = this.onDeath(gone);
      call().then(resolve, reject).finally(forget);
    });
  }

  #guarded<M>(member: M, wrap: (call: Call) => Call): M {
    return typeof member === 'function' ? (wrap(member as Call) as M) : member;
  }

  /** Events and timers of a dead instance come to nothing. */
  readonly #in = (call: Call): Call => (...args) => {
    if (this.#dead) return NOTHING;
    try {
      return call(...args);
    } catch (error) {
      this.#die(error);
      return NOTHING;
    }
  };

  /** Stops the calls around the one that killed the instance, whatever the app's code in between made of that. */
  readonly #out = (call: Call): Call => (...args) => {
    if (this.#dead) throw new EngineGone('The engine died.');
    return call(...args);
  };

  #die(cause: unknown): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#cause = cause;
    for (const request of [...this.#requests]) request.abort();
    for (const transaction of this.#transactions) abort(transaction);
    for (const release of [...this.#locks]) release();
    for (const tell of [...this.#mourners]) tell();
    reportDeath(cause);
  }

  /** Left alone, it would commit what had been written by the time of the death. */
  #begun(transaction: IDBTransaction): IDBTransaction {
    this.#transactions.add(transaction);
    const ended = () => this.#transactions.delete(transaction);
    transaction.addEventListener('complete', ended);
    transaction.addEventListener('abort', ended);
    return transaction;
  }

  /** Settles with what the instance holds a lock for, or with its death. */
  #hold(held: unknown): Promise<void> {
    return new Promise((resolve) => {
      if (this.#dead) return resolve();
      const release = () => {
        this.#locks.delete(release);
        resolve();
      };
      this.#locks.add(release);
      Promise.resolve(held).then(release, release);
    });
  }
}

/** What the glue may look into for results, as it does where a call can fail. */
const NOTHING: readonly never[] = Object.freeze([]);

type Call = (...args: unknown[]) => unknown;

function mapped<A, B>(members: Record<string, A>, map: (member: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, map(member)]));
}

/** Controllers that stand in `live` until they are aborted; the instance aborts each that it has no more use for. */
function counted(live: Set<AbortController>): typeof AbortController {
  return class extends AbortController {
    constructor() {
      super();
      live.add(this);
    }

    override abort(reason?: unknown): void {
      live.delete(this);
      super.abort(reason);
    }
  };
}

function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort();
  } catch {
    // It commits already: all of it was written.
  }
}

function requestLock(name: string, options: LockOptions, granted: (lock: Lock | null) => unknown): Promise<unknown> {
  return navigator.locks.request(name, options, granted);
}
