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
      const rows = (JSON.parse(texts) as [string, string][]).map(([name, text]): [string, StoredRow] => {
        return [name, { version: (expected[name] ?? 0) + 1, text }];
      });
      return store.commit(expected, named(rows));
    },
  };
}

/** Without a prototype: names are intento's own, and none of them means `__proto__`. */
function named<T>(entries: [string, T][]): Record<string, T> {
  return Object.assign(Object.create(null) as Record<string, T>, Object.fromEntries(entries));
}
