/** What the hooks of `./react` say. */

import type { Intent, IntentSnapshot, Queue } from './types.js';

/** What {@link QueueState} is made of. */
export interface QueueIs<Status extends string, Known extends Queue | null, Failure> {
  /** How far opening it is. */
  readonly status: Status;
  /** The queue, once it is open. */
  readonly queue: Known;
  /** Why it could not be opened: an `IntentoError`, mostly. */
  readonly error: Failure;
}

/** The provider's queue. On a server it is always `opening`. */
export type QueueState = QueueIs<'opening', null, null> | QueueIs<'open', Queue, null> | QueueIs<'failed', null, unknown>;

/** What {@link IntentState} is made of. */
export interface IntentIs<Status extends string, Held extends Intent | null, Known extends IntentSnapshot | null, Failure> {
  /** What is known of it, in a word. */
  readonly status: Status;
  /** To act on it: `cancel()`, `resume()`, `replace()`, or `settled({ within: 0 })` for its answer. */
  readonly intent: Held;
  /** What was known of it when this was rendered; the same object until that changes. */
  readonly snapshot: Known;
  /** Why nothing can be known of it: an `IntentoError`, mostly. */
  readonly error: Failure;
}

/**
 * One intent. `opening`: it is being looked up, as always on a server. `failed`: the queue could not be opened, or not be read.
 * `absent`: nothing was submitted under that name. `unfinished`: it goes on by itself. `held`: it waits for the app or a person.
 * `ended`: for good, as far as is known; `snapshot.state` says how.
 */
export type IntentState =
  | IntentIs<'opening' | 'absent', null, null, null>
  | IntentIs<'failed', null, null, unknown>
  | IntentIs<'unfinished' | 'held' | 'ended', Intent, IntentSnapshot, null>;

/** What {@link IntentsState} is made of. */
export interface IntentsAre<Status extends string, Failure> {
  /** How far the list is. */
  readonly status: Status;
  /** Oldest first; empty until `open`. The same array until one of them changes. */
  readonly intents: readonly IntentSnapshot[];
  /** Why there is no list: an `IntentoError`, mostly. */
  readonly error: Failure;
}

/** The intents of the scope. On a server it is always `opening`. */
export type IntentsState = IntentsAre<'opening' | 'open', null> | IntentsAre<'failed', unknown>;
