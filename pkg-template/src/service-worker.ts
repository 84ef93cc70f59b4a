/**
 * Draining from a service worker, when the browser wakes it (Background Sync). Pages register the wake-up with
 * `openQueue({ backgroundSync: true })`. Where there is no Background Sync (Firefox, Safari, webviews) nothing here runs,
 * and pages drain as they always do.
 */

import { SYNC_TAG, syncOf } from './background-sync.js';
import type { Drained, Queue } from './types.js';

/** How long one wake-up works, in milliseconds: Chromium ends a worker after 3 minutes, and an attempt may begin at the end. */
const WAKE_UP_MS = 60_000;
/**
 * What is due within this time, in milliseconds, counts as due: a wake-up that rejects is made again, in Chromium after 5 and
 * after 15 more minutes, and nothing else brings one while no page is open. `register` is refused then (measured, Chromium 156).
 */
const NEXT_WAKE_UP_MS = 5 * 60_000;

/** What {@link drainOnSync} needs of the app. */
export interface DrainOptions {
  /**
   * Opens the queue at each wake-up, with the options of the page: `() => openQueue({ ... })`, of whichever entry. The worker
   * reads who is signed in from IndexedDB or the Cache, say, since it has no localStorage. It is closed again afterwards. `null`:
   * there is nothing to do without a page (nobody is signed in, or only a page has the credentials); everything is left to
   * the page as it is. At most 60 s.
   *
   * An `authorize` that rejects leaves its intent to the page, too. Without `onOutcome`, outcomes are handed over at the next
   * visit, by the page.
   */
  open: () => Queue | null | Promise<Queue | null>;
}

/** https://wicg.github.io/background-sync/spec/#sync-event */
interface SyncEvent extends Event {
  readonly tag: string;
  readonly lastChance: boolean;
  waitUntil(work: Promise<unknown>): void;
}

/**
 * Lets Background Sync drain the queue in this service worker. Call it once, while the worker's script is first run: the browser
 * takes no listeners later. What is due is sent under the same claims as in a tab, for at most a minute; a wake-up that leaves
 * something that will be due before the browser's next one rejects, so that there is one.
 */
export function drainOnSync({ open }: DrainOptions): void {
  addEventListener('sync', (event) => {
    const { tag, lastChance } = event as SyncEvent;
    if (tag === SYNC_TAG) (event as SyncEvent).waitUntil(wakeUp(open, lastChance));
  });
}

async function wakeUp(open: DrainOptions['open'], lastChance: boolean): Promise<void> {
  const began = performance.now();
  const queue = await withinWakeUp(open);
  if (queue === null) return;
  try {
    const left = await queue.drained({ within: WAKE_UP_MS - (performance.now() - began) });
    if (!comesBefore(left, Date.now() + NEXT_WAKE_UP_MS)) return;
  } finally {
    queue.close();
  }
  // At any other time the next wake-up would begin as this one ends, for ever (measured: 150 a second).
  if (lastChance) await registerAgain();
  throw new Error('Something is still to be sent: the browser is to try again.');
}

function comesBefore({ due, nextAt }: Drained, end: number): boolean {
  return due > 0 || (nextAt !== null && nextAt <= end);
}

/** Works only while a page is open. */
async function registerAgain(): Promise<void> {
  const { registration } = globalThis as { registration?: unknown };
  await syncOf(registration)?.register(SYNC_TAG).catch(() => {});
}

/** One that is opened later than that is closed unused. */
async function withinWakeUp(open: DrainOptions['open']): Promise<Queue | null> {
  const opening = (async () => open())();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      opening.then((queue) => queue?.close(), () => {});
      reject(new Error('The queue could not be opened in time.'));
    }, WAKE_UP_MS);
  });
  try {
    return await Promise.race([opening, late]);
  } finally {
    clearTimeout(timer);
  }
}
