import type { IntentSnapshot } from './types.js';

/** The tag that the page registers and the worker listens to. It says nothing of whose intents wait: tags can be listed. */
export const SYNC_TAG = 'intento';

/** Intents that are remembered as unfinished; the first of them is reason enough. */
const NOTED_MAX = 200;
const UNFINISHED: readonly IntentSnapshot['state'][] = ['queued', 'sending', 'waiting', 'accepted'];

/** https://wicg.github.io/background-sync/spec/: not in TypeScript's library, since only Chromium has it. */
interface SyncManager {
  register(tag: string): Promise<void>;
}

/**
 * Asks the browser to wake the service worker while something is unfinished: when an intent is made, and when the page is
 * hidden. A browser that is online wakes it at once, and the worker is there should the page end. What a page asks while it goes
 * away does not arrive (measured in Chromium 156). A bonus: whatever of it is missing, silent or refused, the page drains by
 * itself (hazards S1, S2).
 */
export class BackgroundSync {
  readonly #unfinished = new Set<string>();
  #sync: SyncManager | null = null;
  #registering = false;

  /** Null in workers and on servers: there is no page to leave. */
  static ofPage(): BackgroundSync | null {
    return globalThis.document === undefined ? null : new BackgroundSync();
  }

  private constructor() {
    // It may never resolve, and nothing waits for it.
    serviceWorkers()?.ready.then((registration) => {
      this.#sync = syncOf(registration);
      this.#register();
    }, () => {});
    document.addEventListener('visibilitychange', this.#hidden);
  }

  note({ id, state }: Pick<IntentSnapshot, 'id' | 'state'>): void {
    if (!UNFINISHED.includes(state)) {
      this.#unfinished.delete(id);
    } else if (!this.#unfinished.has(id) && this.#unfinished.size < NOTED_MAX) {
      this.#unfinished.add(id);
      this.#register();
    }
  }

  /** The page lets the queue go; what is unfinished is the worker's then. */
  close(): void {
    this.#register();
    document.removeEventListener('visibilitychange', this.#hidden);
  }

  readonly #hidden = (): void => {
    if (document.hidden) this.#register();
  };

  #register(): void {
    if (this.#sync === null || this.#registering || this.#unfinished.size === 0) return;
    this.#registering = true;
    const done = () => void (this.#registering = false);
    // The user or the browser may have turned it off.
    this.#sync.register(SYNC_TAG).then(done, done);
  }
}

/** The registration's way to Background Sync; null where there is none. */
export function syncOf(registration: unknown): SyncManager | null {
  return (registration as { sync?: SyncManager }).sync ?? null;
}

/** Undefined on origins that are not secure, and in many webviews; reading it throws in a sandboxed frame. */
function serviceWorkers(): ServiceWorkerContainer | undefined {
  try {
    return globalThis.navigator?.serviceWorker;
  } catch {
    return undefined;
  }
}
