'use client';

/**
 * React 18 and later. Nothing here opens a queue or reads a global: the app hands over how to open one, of whichever entry, so
 * that importing and rendering on a server do nothing.
 */

import {
  createContext, createElement, useCallback, useContext, useEffect, useMemo, useState, useSyncExternalStore, type ReactElement, type ReactNode,
} from 'react';
import { Board, NEVER } from './react-board.js';
import type { IntentsState, IntentState, QueueState } from './react-states.js';
import type { Intent, IntentName, IntentSnapshot, Queue, Submission } from './types.js';

export type * from './react-states.js';

const BoardContext = createContext<Board | null>(null);

/** Where a provider has its queue from. */
export type IntentoProviderProps = {
  /** What may use the hooks. */
  children?: ReactNode;
} & (
  | {
    /**
     * Opens the queue, when the provider is mounted in a browser: `() => openQueue({ ... })`. The provider closes what it opened
     * when it is unmounted; `openQueue` counts, so that StrictMode's second mount gets the same queue. Only the function of the
     * first render is called: give the provider a `key` for what makes it another queue, `key={user.id}`.
     */
    open: () => Queue | Promise<Queue>;
    /** Either of the two. */
    queue?: never;
  }
  | {
    /** A queue of the app's own, which closes it itself. That of the first render counts, as above. */
    queue: Queue | Promise<Queue>;
    /** Either of the two. */
    open?: never;
  }
);

/** Has a queue for the hooks below it. It counts as a listener of the queue's `change`. */
export function IntentoProvider({ open, queue, children }: IntentoProviderProps): ReactElement {
  const [board] = useState(() => (open === undefined ? new Board(() => queue, { owned: false }) : new Board(open, { owned: true })));
  useEffect(() => board.mount(), [board]);
  return createElement(BoardContext.Provider, { value: board }, children);
}

/** The queue, once it is open, or why it could not be opened. On the server it is `opening`. */
export function useQueue(): QueueState {
  const board = useBoard();
  return useSyncExternalStore(board.subscribe, board.read, NEVER.queue);
}

/**
 * What is known of the intent of that operation and reference, this tab's or another's: it is rendered again with every
 * change. After a `replace` it is the successor.
 */
export function useIntent({ operation, reference }: IntentName): IntentState {
  const board = useBoard();
  const followed = useMemo(() => board.intent({ operation, reference }), [board, operation, reference]);
  return useSyncExternalStore(followed.subscribe, followed.read, NEVER.intent);
}

/** The intents of the scope, oldest first, at most 1 000 that were there and those made since. */
export function useIntents(filter: { state?: IntentSnapshot['state'] } = {}): IntentsState {
  const board = useBoard();
  const known = useSyncExternalStore(board.all.subscribe, board.all.read, NEVER.intents);
  const { state } = filter;
  return useMemo(() => {
    if (state === undefined || known.status !== 'open') return known;
    return { ...known, intents: known.intents.filter((intent) => intent.state === state) };
  }, [known, state]);
}

/** What {@link useSubmit} gives. */
export interface Submitting {
  /**
   * Waits for the queue to be open, and submits; resolves once the intent is stored. In an effect, always with a reference: React
   * may run it twice, and the reference makes it one decision.
   */
  submit: (submission: Submission) => Promise<Intent>;
  /** Is something being stored? What happens to it afterwards is what {@link useIntent} says. */
  pending: boolean;
  /** Why the last submission was not stored: an `IntentoError`, mostly; null while that is not known, or if it was. */
  error: unknown;
}

/** To submit from an event handler or an effect. */
export function useSubmit(): Submitting {
  const board = useBoard();
  const [{ running, error }, setState] = useState<{ running: number; error: unknown }>({ running: 0, error: null });
  const submit = useCallback(async (submission: Submission) => {
    setState(({ running }) => ({ running: running + 1, error: null }));
    try {
      const intent = await (await board.opened()).submit(submission);
      setState(({ running, error }) => ({ running: running - 1, error }));
      return intent;
    } catch (error) {
      setState(({ running }) => ({ running: running - 1, error }));
      throw error;
    }
  }, [board]);
  return { submit, pending: running > 0, error };
}

function useBoard(): Board {
  const board = useContext(BoardContext);
  if (board === null) throw new Error('There is no <IntentoProvider> around this component.');
  return board;
}
