import { canonicalJson } from './canonical-json.js';
import type { Line } from './line.js';
import type { IntentSnapshot, StorageLost } from './types.js';

const NOTE = 'intento/open/';
/** Intents whose names are remembered. */
const NOTES_MAX = 200;
const UNFINISHED: readonly IntentSnapshot['state'][] = ['queued', 'sending', 'waiting', 'accepted', 'held'];

interface Note {
  scope: string;
  operation: string;
  reference: string;
}

/**
 * What a page remembers beside the ledger, for the day on which the browser evicts the ledger alone: which ledger there
 * was, and the names of what was unfinished in it. Kept in localStorage, where there is one; nothing is decided by it but
 * what the app is told.
 */
export class Canary {
  readonly #scope: string;
  #storage = localStorageIfAny();
  readonly #noted = new Set<string>();

  /** `scope` is a hash. */
  constructor(scope: string) {
    this.#scope = scope;
  }

  /** Says what was lost with another ledger than the one that is open, once. */
  async look(line: Line): Promise<StorageLost | null> {
    if (await line.ask(async (raw) => raw.startedEmpty())) return { unfinished: this.#notes().map(([, { operation, reference }]) => ({ operation, reference })) };
    const ledger = (await line.ask((raw) => raw.ledger())) as string | null;
    // What is not IndexedDB goes with its notes, or is the app's own to watch.
    if (ledger === null) this.#storage = null;
    if (this.#storage === null || ledger === null) return null;
    const known = `intento/ledger/${this.#scope}`;
    const before = this.#storage.getItem(known);
    if (before === ledger) return null;
    const unfinished: StorageLost['unfinished'] = [];
    if (before !== null) {
      for (const [id, { operation, reference }] of this.#notes()) {
        // A worker may have gone on in the new ledger meanwhile.
        if ((await line.ask((raw) => raw.intent(id))) !== null) continue;
        unfinished.push({ operation, reference });
        this.#storage.removeItem(NOTE + id);
      }
    }
    this.#keep(known, ledger);
    return before === null ? null : { unfinished };
  }

  /** Notes an intent while it is unfinished, and forgets it then. */
  note({ id, state, operation, reference }: IntentSnapshot): void {
    if (this.#storage === null || reference === null) return;
    if (!UNFINISHED.includes(state)) {
      this.#noted.delete(id);
      this.#storage.removeItem(NOTE + id);
    } else if (!this.#noted.has(id) && this.#noted.size < NOTES_MAX) {
      this.#noted.add(id);
      this.#keep(NOTE + id, canonicalJson({ scope: this.#scope, operation, reference } satisfies Note));
    }
  }

  #notes(): [string, Note][] {
    const names = Object.keys(this.#storage ?? {}).filter((name) => name.startsWith(NOTE));
    return names.flatMap((name): [string, Note][] => {
      const note = read(this.#storage?.getItem(name) ?? '');
      return note?.scope === this.#scope ? [[name.slice(NOTE.length), note]] : [];
    });
  }

  /** A full store keeps no notes; that is no reason to refuse anything. */
  #keep(name: string, value: string): void {
    try {
      this.#storage?.setItem(name, value);
    } catch {
      // Nothing to do.
    }
  }
}

function read(text: string): Note | null {
  try {
    return JSON.parse(text) as Note | null;
  } catch {
    return null;
  }
}

/** Reading it throws where storage is blocked, and it is null in some webviews. */
function localStorageIfAny(): Storage | null {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}
