import { BridgeError } from './bridge.js';
import type { AppStore, Durability, StoredRow } from './types.js';

/** What is asked of a native key-value storage: AsyncStorage has it as it is. Each `setItem` is there whole or not at all. */
export interface KeyValueStorage {
  /** The value, or null where there is none. */
  getItem(key: string): Promise<string | null>;
  /** Resolves when it is stored. */
  setItem(key: string, value: string): Promise<void>;
  /** Resolves when it is gone, or was not there. */
  removeItem(key: string): Promise<void>;
  /** Of whoever uses the storage. */
  getAllKeys(): Promise<readonly string[]>;
}

/** What is asked of an MMKV instance, of any version. */
export interface MMKVStorage {
  /** The value, or undefined where there is none. */
  getString(key: string): string | undefined;
  /** Stored when it returns. */
  set(key: string, value: string): void;
  /** Of whoever uses the instance. */
  getAllKeys(): string[];
  /** Version 3 and earlier. */
  delete?(key: string): unknown;
  /** Since version 4. */
  remove?(key: string): unknown;
}

/** The native side's storage, by namespace. Webviews of one app that share a namespace share their intents, as tabs do. */
export interface HostStorage {
  /** What it promises, as receipts in the page say. */
  readonly durability: Durability;
  /** The rows of one namespace. */
  open(namespace: string): AppStore;
}

/**
 * Keeps intents in `storage`, under keys that begin with `intento/`. `durability` is what you vouch for: by default
 * `strong_relaxed`, a crash of the app; whether AsyncStorage waits for the disk its documentation does not say.
 */
export function asyncStorage(storage: KeyValueStorage, { durability = 'strong_relaxed' }: { durability?: Durability } = {}): HostStorage {
  return { durability, open: (namespace) => new KeyValueStore(storage, namespace, durability) };
}

/** As {@link asyncStorage}, on MMKV: mapped memory, which survives the app and not a power cut. */
export function mmkvStorage(mmkv: MMKVStorage, options: { durability?: Durability } = {}): HostStorage {
  return asyncStorage(adapted(mmkv), options);
}

/** One for each instance, so that all its users wait for one another. */
const adapters = new WeakMap<MMKVStorage, KeyValueStorage>();

function adapted(mmkv: MMKVStorage): KeyValueStorage {
  const known = adapters.get(mmkv);
  if (known !== undefined) return known;
  const adapter: KeyValueStorage = {
    getItem: async (key) => mmkv.getString(key) ?? null,
    setItem: async (key, value) => mmkv.set(key, value),
    removeItem: async (key) => void (mmkv.remove ? mmkv.remove(key) : mmkv.delete?.(key)),
    getAllKeys: async () => mmkv.getAllKeys(),
  };
  adapters.set(mmkv, adapter);
  return adapter;
}

/** What is under way on one storage under one namespace, whichever store it belongs to. */
const turns = new WeakMap<KeyValueStorage, Map<string, Turn>>();

interface Turn {
  last: Promise<unknown>;
  /** A log may be there: at first, and after a commit that failed half-way. */
  mayHaveLog: boolean;
}

function turnOf(storage: KeyValueStorage, namespace: string): Turn {
  const ofStorage = turns.get(storage) ?? new Map<string, Turn>();
  turns.set(storage, ofStorage);
  const turn = ofStorage.get(namespace) ?? { last: Promise.resolve(), mayHaveLog: true };
  ofStorage.set(namespace, turn);
  return turn;
}

/** One row of a commit: written, or, if it is still exactly this one, taken away. */
type Step = readonly [name: string, row: StoredRow, gone?: true];

/**
 * Rows in a storage that writes one value at a time. A commit of several is written as one value first, the log; then each
 * under its name; then the log is removed. Whoever finds a log writes its rows once more: a commit is there whole as soon as
 * its log is. One operation at a time.
 */
class KeyValueStore implements AppStore {
  readonly durability: Durability;
  readonly #storage: KeyValueStorage;
  readonly #turn: Turn;
  readonly #rows: string;
  readonly #log: string;

  constructor(storage: KeyValueStorage, namespace: string, durability: Durability) {
    this.durability = durability;
    this.#storage = storage;
    this.#turn = turnOf(storage, namespace);
    this.#rows = `intento/${namespace}/row/`;
    this.#log = `intento/${namespace}/log`;
  }

  read(names: readonly string[]): Promise<(StoredRow | null)[]> {
    return this.#alone(() => this.#read(names));
  }

  scan(prefix: string): Promise<(readonly [string, StoredRow])[]> {
    return this.#alone(async () => {
      const begins = this.#rows + prefix;
      const keys = (await this.#storage.getAllKeys()).filter((key) => key.startsWith(begins));
      const names = keys.map((key) => key.slice(this.#rows.length)).sort();
      const rows = await this.#read(names);
      return names.flatMap((name, at): (readonly [string, StoredRow])[] => {
        const row = rows[at];
        return row ? [[name, row]] : [];
      });
    });
  }

  commit(expectedVersions: Readonly<Record<string, number>>, rows: Readonly<Record<string, StoredRow | null>>): Promise<boolean> {
    return this.#alone(async () => {
      const expected = Object.entries(expectedVersions);
      const found = await this.#read(expected.map(([name]) => name));
      if (expected.some(([, version], at) => (found[at]?.version ?? 0) !== version)) return false;
      const steps = await this.#steps(rows);
      if (steps.length === 0) return true;
      if (steps.length > 1) {
        // From here on the log may be there, whatever `setItem` says.
        this.#turn.mayHaveLog = true;
        await this.#storage.setItem(this.#log, JSON.stringify(steps));
      }
      await this.#take(steps);
      if (steps.length > 1) await this.#endLog();
      return true;
    });
  }

  /** Runs after all that came before, with no log left behind. */
  #alone<T>(operation: () => Promise<T>): Promise<T> {
    const run = async (): Promise<T> => {
      try {
        if (this.#turn.mayHaveLog) await this.#recover();
        return await operation();
      } catch (error) {
        throw error instanceof BridgeError ? error : new BridgeError('store_failed');
      }
    };
    const result = this.#turn.last.then(run);
    this.#turn.last = result.catch(() => {});
    return result;
  }

  async #recover(): Promise<void> {
    const log = await this.#storage.getItem(this.#log);
    if (log !== null) {
      const steps = JSON.parse(log) as readonly Step[];
      const found = await this.#read(steps.map(([name]) => name));
      // A log that came back after a power cut is older than what may have been written since.
      await this.#take(steps.filter(([, row, gone], at) => {
        const there = found[at];
        return gone ? there?.version === row.version && there.text === row.text : row.version > (there?.version ?? 0);
      }));
    }
    await this.#endLog();
  }

  async #endLog(): Promise<void> {
    await this.#storage.removeItem(this.#log);
    this.#turn.mayHaveLog = false;
  }

  #read(names: readonly string[]): Promise<(StoredRow | null)[]> {
    return Promise.all(names.map(async (name) => stored(await this.#storage.getItem(this.#rows + name))));
  }

  /** What a commit does; nothing for what is to go and is not there. */
  async #steps(rows: Readonly<Record<string, StoredRow | null>>): Promise<Step[]> {
    const going = Object.entries(rows).filter(([, row]) => row === null).map(([name]) => name);
    const there = await this.#read(going);
    const gone = going.flatMap((name, at): Step[] => {
      const row = there[at];
      return row ? [[name, row, true]] : [];
    });
    const written = Object.entries(rows).flatMap(([name, row]): Step[] => (row === null ? [] : [[name, row]]));
    return [...written, ...gone];
  }

  async #take(steps: readonly Step[]): Promise<void> {
    for (const [name, { version, text }, gone] of steps) {
      if (gone) await this.#storage.removeItem(this.#rows + name);
      else await this.#storage.setItem(this.#rows + name, `${version} ${text}`);
    }
  }
}

/** A row as it is kept: its version, a space, its text. What is kept and cannot be read is not "nothing there". */
function stored(value: string | null): StoredRow | null {
  if (value === null) return null;
  const end = value.indexOf(' ');
  const version = Number(value.slice(0, end));
  if (end < 1 || !Number.isSafeInteger(version) || version < 1) throw new BridgeError('store_failed', 'damaged');
  return { version, text: value.slice(end + 1) };
}
