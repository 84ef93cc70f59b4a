import type { AppStore, StoredRow } from './types.js';

/** An app's store, as the engine calls it: JSON text in and out. */
export function storeCalls(store: AppStore): object {
  return {
    storeRead: async (names: string) => {
      const rows = await store.read(JSON.parse(names) as string[]);
      return JSON.stringify(rows.map((row) => row?.text ?? null));
    },
    storeScan: async (prefix: string) => JSON.stringify((await store.scan(prefix)).map(([name, { text }]) => [name, text])),
    storeCommit: async (versions: string, texts: string) => {
      const expected = named(JSON.parse(versions) as [string, number][]);
      const rows = (JSON.parse(texts) as [string, string | null][]).map(([name, text]): [string, StoredRow | null] => {
        return [name, text === null ? null : { version: (expected[name] ?? 0) + 1, text }];
      });
      return store.commit(expected, named(rows));
    },
  };
}

/** Without a prototype: names are intento's own, and none of them means `__proto__`. */
function named<T>(entries: [string, T][]): Record<string, T> {
  return Object.assign(Object.create(null) as Record<string, T>, Object.fromEntries(entries));
}

/** The volatile tier: gone with the page. */
export class MemoryStore implements AppStore {
  readonly durability = 'volatile';
  readonly #rows = new Map<string, StoredRow>();

  async read(names: readonly string[]): Promise<(StoredRow | null)[]> {
    return names.map((name) => this.#rows.get(name) ?? null);
  }

  async scan(prefix: string): Promise<[string, StoredRow][]> {
    return [...this.#rows].filter(([name]) => name.startsWith(prefix));
  }

  async commit(expectedVersions: Readonly<Record<string, number>>, rows: Readonly<Record<string, StoredRow | null>>): Promise<boolean> {
    const version = (name: string): number => this.#rows.get(name)?.version ?? 0;
    if (Object.entries(expectedVersions).some(([name, expected]) => version(name) !== expected)) return false;
    for (const [name, row] of Object.entries(rows)) {
      if (row === null) this.#rows.delete(name);
      else this.#rows.set(name, row);
    }
    return true;
  }
}
