/**
 * What a page in a webview and its native host say to each other. Pure: both sides share this file.
 *
 * A message is one JSON object as text, at most {@link MESSAGE_MAX_CHARS} long. It is an *ask* (a verb of a closed list with
 * its arguments) or the *answer* to one, which also acknowledges it. Never is anything of a message run as code.
 *
 * - `nonce`: 128 random bits that the host makes for each life of a webview and puts into the page's main frame before
 *   content loads, only at the expected origin. A message without it is refused.
 * - `session`: made by the page at each load. The host follows the newest one; messages of a page that is gone are refused.
 * - `id`: counts up within a session, for each side by itself. An ask is sent again until it is answered or its deadline has
 *   passed; whoever gets it runs it at most once, and answers a repeated one with what it answered before.
 * - `last`, `waits`: the asker's greatest id so far, and those up to it for which it still waits (at most {@link ASKS_MAX}).
 *   What it waits for no more is neither run nor remembered.
 *
 * Messages may be lost, repeated and come in another order. A deadline that passes says nothing of whether the ask was run:
 * `commit` is safe then because it names the versions that it expects.
 */

import type { IntentSnapshot, Outcome, StoredRow } from './types.js';

/** Where the host leaves the nonce, and where it calls the page: a member of `window`. */
export const HOST_MEMBER = '__intentoHost';

/** A commit that records the largest answer beside its intent, three times over. */
export const MESSAGE_MAX_CHARS = 4 * 1024 * 1024;

/** A page of a scan ends after the row that passes this. */
export const SCAN_PAGE_CHARS = 256 * 1024;

/** How many asks of one side may be under way; more wait at the asker, and are not run by the other. */
export const ASKS_MAX = 64;

export const NAMES_MAX = 4_096;
export const NAME_MAX_CHARS = 1_024;

/** What the host knows of the device; `connected` is null where the app does not say. */
export interface DeviceState {
  /** Is there a network? */
  connected: boolean | null;
  /** Is the app in front? */
  active: boolean;
}

/** An outcome as the host gets it: neither key nor payload nor the body of the answer. */
export interface HostOutcome {
  /** As `settled()` says it in the page. */
  kind: Outcome['kind'];
  /** False: the device could not record it; it may be told again as something else. */
  durable: boolean;
  /** As the page knew it then. */
  intent: IntentSnapshot;
  /** With `succeeded` and `rejected`. */
  answer: HostAnswer | null;
}

/** What the host gets to know of a server's answer. */
export interface HostAnswer {
  /** HTTP status; 0 where the answer was not kept. */
  status: number;
  /** The server's name of what was there already, where the contract knows it. */
  resource: string | null;
}

/** What the page may ask of the host: the arguments and the answer of each verb. */
export type HostVerbs = {
  hello: { ask: object; answer: { state: DeviceState; durability: string | null } };
  read: { ask: { names: readonly string[] }; answer: readonly (StoredRow | null)[] };
  scan: { ask: { prefix: string; after: string | null }; answer: { rows: readonly (readonly [string, StoredRow])[]; more: boolean } };
  commit: {
    ask: { expected: readonly (readonly [string, number])[]; rows: readonly (readonly [string, StoredRow | null])[] };
    answer: boolean;
  };
  outcome: { ask: { outcome: HostOutcome }; answer: null };
  change: { ask: { intent: IntentSnapshot }; answer: null };
};

/** What the host may ask of the page. */
export type PageVerbs = {
  /** `serial` counts up: an older one that comes later is no news. */
  state: { ask: { state: DeviceState; serial: number }; answer: null };
  intents: { ask: object; answer: readonly IntentSnapshot[] };
  cancel: { ask: { id: string }; answer: boolean };
  resume: { ask: { id: string }; answer: null };
  reconcile: { ask: { id: string }; answer: IntentSnapshot };
};

export type Verbs = Record<string, { ask: object; answer: unknown }>;

/** Why something did not cross the bridge. */
export type BridgeErrorCode =
  /** The page is in no webview of a host, or the host has not answered. */
  | 'host_missing'
  /** `source` names no https origin: with `html`, add `baseUrl`. */
  | 'origin_invalid'
  /** No source of random bits. */
  | 'entropy_unavailable'
  /** The page was reloaded, its process died, or the webview was taken away. */
  | 'page_gone'
  /** No answer within the deadline; whether it was run is not known. */
  | 'timed_out'
  | 'too_large'
  /** The page has no queue open, or the app no store. */
  | 'absent'
  /** The host's storage has failed, or holds what cannot be read. */
  | 'store_failed'
  /** The other side tried and failed; `detail` is the code of its error, if it had one. */
  | 'failed';

/** Holds neither key nor payload. Branch on `code`. */
export class BridgeError extends Error {
  /** `BridgeError`. */
  override readonly name = 'BridgeError';
  /** Why. */
  readonly code: BridgeErrorCode;
  /** What is meant: an option, or the code of the other side's error. */
  readonly detail: string | null;

  constructor(code: BridgeErrorCode, detail: string | null = null) {
    super(detail === null ? code : `${code} (${detail})`);
    this.code = code;
    this.detail = detail;
  }
}

export interface Envelope {
  intento: 1;
  nonce: string;
  session: string;
  id: number;
}

export interface Ask extends Envelope {
  last: number;
  waits: readonly number[];
  verb: string;
  with: object;
}

export interface Answer extends Envelope {
  ok?: unknown;
  failed?: { code: BridgeErrorCode; detail: string | null };
}

/** Why a message was not listened to. */
export type Refusal = 'too_large' | 'malformed' | 'unknown_verb' | 'wrong_nonce' | 'foreign_origin' | 'dead_session';

/** What crosses from the page to the host, checked in depth: nothing else reaches the host's code. */
export const HOST_ASKS: { readonly [V in keyof HostVerbs]: (ask: Fields) => boolean } = {
  hello: () => true,
  read: ({ names }) => isList(names, isName),
  scan: ({ prefix, after }) => isName(prefix) && (after === null || isName(after)),
  commit: ({ expected, rows }) => isList(expected, isPairOf(isCount)) && isList(rows, isPairOf((row) => row === null || isRow(row))),
  outcome: ({ outcome }) => isFields(outcome) && isText(outcome['kind']) && isSnapshot(outcome['intent']),
  change: ({ intent }) => isSnapshot(intent),
};

export const PAGE_ASKS: { readonly [V in keyof PageVerbs]: (ask: Fields) => boolean } = {
  state: ({ state, serial }) => isFields(state) && typeof state['active'] === 'boolean' && isCount(serial),
  intents: () => true,
  cancel: ({ id }) => isText(id),
  resume: ({ id }) => isText(id),
  reconcile: ({ id }) => isText(id),
};

type Fields = Readonly<Record<string, unknown>>;

/** A message that `asks` admits, or why it is none. */
export function readMessage(text: unknown, asks: Readonly<Record<string, (ask: Fields) => boolean>>): Ask | Answer | Refusal {
  if (typeof text !== 'string') return 'malformed';
  if (text.length > MESSAGE_MAX_CHARS) return 'too_large';
  const message = parsed(text);
  if (!isFields(message) || message['intento'] !== 1) return 'malformed';
  const { nonce, session, id, last, waits, verb, failed } = message;
  if (!isText(nonce) || !isText(session) || !isCount(id)) return 'malformed';
  if (verb === undefined) {
    const isAnswer = failed === undefined ? 'ok' in message : isFields(failed) && isText(failed['code']);
    return isAnswer ? (message as unknown as Answer) : 'malformed';
  }
  if (!isText(verb) || !Object.hasOwn(asks, verb)) return 'unknown_verb';
  const given = message['with'];
  if (!isCount(last) || !isWaits(waits) || !isFields(given) || asks[verb]?.(given) !== true) return 'malformed';
  return message as unknown as Ask;
}

/** A message's text. Throws `too_large`. */
export function writeMessage(message: Ask | Answer): string {
  const text = JSON.stringify(message);
  if (text.length > MESSAGE_MAX_CHARS) throw new BridgeError('too_large');
  return text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= NAME_MAX_CHARS;
}

const isName = isText;

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isRow(value: unknown): value is StoredRow {
  return isFields(value) && isCount(value['version']) && typeof value['text'] === 'string';
}

function isSnapshot(value: unknown): boolean {
  return isFields(value) && isText(value['id']) && isText(value['operation']) && isText(value['state']);
}

function isList(value: unknown, each: (element: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length <= NAMES_MAX && value.every(each);
}

function isPairOf(second: (value: unknown) => boolean): (pair: unknown) => boolean {
  return (pair) => Array.isArray(pair) && pair.length === 2 && isName(pair[0]) && second(pair[1]);
}

function isWaits(value: unknown): boolean {
  return isList(value, isCount) && (value as unknown[]).length <= ASKS_MAX;
}
