import type { RawQueue } from './core.js';
import type { Engine } from './engine.js';
import { appError, asIntentoError, engineDead } from './errors.js';
import { EngineGone } from './gate.js';

/** How often one call is made: once more if the engine died meanwhile. A call that kills two engines is at fault itself. */
const TRIES_MAX = 2;

interface Opened {
  engine: Engine;
  raw: RawQueue;
  /** The engine's death is of no interest any more. */
  forget: () => void;
}

/** The way to a queue of the engine. When an engine dies, the queue is opened again in a fresh one, from the ledger. */
export class Line {
  readonly #load: () => Promise<Engine>;
  readonly #openRaw: (engine: Engine) => Promise<RawQueue>;
  #opened: Opened | null = null;
  #opening: Promise<Opened> | null = null;
  #closed = false;

  private constructor(load: () => Promise<Engine>, openRaw: (engine: Engine) => Promise<RawQueue>) {
    this.#load = load;
    this.#openRaw = openRaw;
  }

  static async open(load: () => Promise<Engine>, openRaw: (engine: Engine) => Promise<RawQueue>): Promise<Line> {
    const line = new Line(load, openRaw);
    await line.#open();
    return line;
  }

  /**
   * What the engine answers; rejects with an `IntentoError`. The call is made in this very task if the queue is open.
   * `once`: it must not be made a second time, since it could do a second thing.
   */
  async ask<T>(call: (raw: RawQueue) => Promise<T>, { once = false } = {}): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      if (this.#closed) throw closed();
      try {
        const { engine, raw } = this.#opened ?? (await this.#open());
        return await engine.gate.outlive(() => call(raw));
      } catch (error) {
        if (!(error instanceof EngineGone)) throw asIntentoError(error);
        if (once || tries === TRIES_MAX) throw engineDead(error.cause);
      }
    }
  }

  /** Null between two engines. */
  get raw(): RawQueue | null {
    return this.#opened?.raw ?? null;
  }

  /** Idempotent. */
  close(): void {
    this.#closed = true;
    this.#opened?.forget();
    this.#opened?.raw.close();
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#start().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async #start(): Promise<Opened> {
    for (;;) {
      if (this.#closed) throw closed();
      const engine = await this.#load();
      try {
        const raw = await engine.gate.outlive(() => this.#openRaw(engine));
        return this.#keep(engine, raw);
      } catch (error) {
        if (!(error instanceof EngineGone)) throw error;
      }
    }
  }

  #keep(engine: Engine, raw: RawQueue): Opened {
    const forget = engine.gate.onDeath(() => {
      this.#opened = null;
      // Not only for the next call: what is stored is to be sent. Whoever calls hears why that failed.
      this.#open().catch(() => {});
    });
    this.#opened = { engine, raw, forget };
    if (this.#closed) this.close();
    return this.#opened;
  }
}

function closed() {
  return appError('closed', 'Open the queue again; nothing that was submitted is lost.');
}
