/** What an app hands over and gets back. Plain objects only; times are epoch milliseconds. */

import type { Contract } from './contract.js';
import type { ErrorCode } from './errors.js';

export type { Carrier, Contract, KeyRules, Lookup, OwnContract, PointerIs, Rule, Verdict, When } from './contract.js';

/** A value JSON can carry exactly. Integers beyond 2^53 - 1 are refused: send them as strings. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json };

/** What `authorize` answers at each attempt. Never stored. */
export interface Authorization {
  /** The scope these credentials belong to; another scope than the queue's refuses the attempt. */
  scope: string;
  /** Sent with this attempt, and stored nowhere. */
  headers?: Record<string, string>;
}

/** A request that is about to leave, as `prepare` sees it. */
export interface Outgoing {
  /** From 1. */
  attempt: number;
  /** As it will be sent. */
  method: string;
  /** Absolute. */
  url: string;
  /** Everything that will be sent, key and credentials included. */
  headers: Readonly<Record<string, string>>;
  /** The frozen bytes; null where there are none. */
  body: string | Uint8Array | null;
}

/** What `prepare` adds to one attempt. It can replace neither the key nor a header that is there. */
export interface Prepared {
  /** Sent with this attempt, and stored nowhere. */
  headers?: Record<string, string>;
  /**
   * In place of the stored body: an envelope around it, say. Where the key travels in the body it must still stand in it,
   * or nothing is sent.
   */
  body?: string | Uint8Array;
}

/** What `reconcile` found out about an intent. */
export type Finding =
  /** The effect is there. `response` is what the app would have got. */
  | { kind: 'applied'; response?: { status: number; body?: Json } }
  /** Nothing happened, and the server can never run it any more: a seal. */
  | { kind: 'not_applied'; sealed: true }
  /** Nothing is there now. A late packet could still run, so that this settles nothing. */
  | { kind: 'not_found' }
  | { kind: 'unknown' };

/** What a queue is opened with. */
export interface QueueOptions {
  /** Whose intents these are: account, tenant, signed-in user. Stored as a hash. */
  scope: string;
  /** How the server speaks idempotency. There is no default: an unknown server must not be re-sent to. */
  contract: Contract;
  /** https, or http on loopback. Intents go to this origin and to `extraOrigins`, nowhere else. */
  baseUrl: string;
  /** Further origins that intents may go to, exactly: `https://pay.shop.example`. */
  extraOrigins?: readonly string[];
  /** Asked before each attempt; with `refresh` once after the server refused what it got (401). Without it, requests carry no credentials. */
  authorize?: (asked: { refresh: boolean }) => Authorization | Promise<Authorization>;
  /**
   * Asked, without anything being sent again, what became of an intent whose outcome is unknown: when nothing else can
   * help it, and by `intent.reconcile()`. `key` is the idempotency key: for looking it up, not for logs. Takes the place
   * of the contract's own lookup. At most 30 s; a rejection is `unknown`.
   */
  reconcile?: (asked: { intent: IntentSnapshot; key: string }) => Finding | Promise<Finding>;
  /**
   * Called before each attempt leaves, to sign it, say. What it adds is neither stored nor compared: it is no part of
   * what makes two requests the same. At most 4 s; if it rejects, nothing is sent, and it is asked again later.
   */
  prepare?: (outgoing: Outgoing) => Prepared | Promise<Prepared>;
  /**
   * In place of the platform's `fetch`, for attempts and probes: one that measures, or one that a native shell brings. It gets a URL and
   * an init, hands over what came as a `Response`, and rejects where nothing came. It must heed `signal` and `redirect: 'manual'`, and
   * neither retry nor cache: that is what the queue is for.
   */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * Reads a body that is no JSON (a JWT, say), for the contract's rules: the JSON value in it, or undefined. It should
   * check a signature where there is one. At most 4 s.
   */
  decode?: (answer: { status: number; mediaType: string | null; body: string }) => Json | undefined | Promise<Json | undefined>;
  /**
   * Handlers of outcomes, by operation. Called once in normal running, in one tab, also after a reload; again if it
   * rejects, takes longer than 30 s, or its page dies. Resolving acknowledges the outcome. Without a handler, a
   * terminal `settled()` or `change` does.
   */
  onOutcome?: Readonly<Record<string, (outcome: Outcome) => void | Promise<void>>>;
  /**
   * `'cookie'`: requests carry the browser's cookies, and the header `Intento-Scope` with the hash of the scope, which
   * your server must check against the session: SHA-256 over `intento/scope/1` and the scope, each after its length in
   * bytes as 8 bytes, big end first. Without it, another customer's sign-in on this device could send this one's
   * intents.
   */
  session?: 'cookie';
  /** With `session: 'cookie'`: no such header. Says that you accept that risk. */
  unboundCookies?: boolean;
  /** A CORS-readable GET that has no effect; says whether the API can be reached. */
  probeUrl?: string;
  /** How long one attempt may take, answer body included. Default 30 000; 1 000 to 120 000. */
  attemptDeadlineMs?: number;
  /**
   * The least that is accepted of the place where intents are stored; below it, `openQueue` rejects with
   * `durability_too_low`. Default `'weak'`. With `'volatile'`, intents are kept in memory where there is nothing else: they
   * are gone with the page.
   */
  minDurability?: Durability;
  /**
   * Asks the browser to wake your service worker while something is unfinished, also after the last page is closed; the worker
   * drains with `drainOnSync` of `intento/service-worker`. Default false. A bonus where there is Background Sync (Chromium): nothing waits for it,
   * and pages drain all the same.
   */
  backgroundSync?: boolean;
  /** A store of the app's own, in place of the browser's. What the browser's holds of an earlier time is drained beside it. */
  store?: AppStore | undefined;
  /**
   * Operations whose requests may hold what looks like card data; others are refused (`card_data`), since what is submitted
   * is stored. That it was let through is journalled with the intent.
   */
  allowCardData?: readonly string[];
  /**
   * What to do where a ledger exists and cannot be read. By default `openQueue` rejects with `ledger_unreadable`: an order
   * may be in it. `'start-empty'` goes on without it, in the next best place, and tells what it last held of unfinished
   * intents as {@link Queue.storageLost}: ask your server about those before anybody pays again.
   */
  onUnreadable?: 'start-empty';
}

/**
 * What a stored intent is safe from. `strong`: a power cut, as far as the browser says so. `strong_relaxed`: a crash of the
 * page or the browser; this engine does not say whether it waits for the disk. `weak` (localStorage): a reload and a crash of
 * the page; what was stored in the last minute may be gone when the browser itself is killed. `volatile`: nothing.
 */
export type Durability = 'strong' | 'strong_relaxed' | 'weak' | 'volatile';

/** One row of an {@link AppStore}. The text is intento's: kept and given back as it is. */
export interface StoredRow {
  /** From 1; it grows by one with each write. */
  version: number;
  /** Opaque. */
  text: string;
}

/** A store that the app brings: the host of a webview, say. Rejections are failures of which nothing is known. */
export interface AppStore {
  /** What it promises of what it has said is committed. */
  readonly durability: Durability;
  /** The rows under these names, in their order; null where there is none. */
  read(names: readonly string[]): Promise<readonly (StoredRow | null)[]>;
  /** Every row whose name begins so, in any order. */
  scan(prefix: string): Promise<readonly (readonly [name: string, row: StoredRow])[]>;
  /**
   * Writes all of `rows`, or nothing; a null takes the row of that name away. Resolves with `true` once that is as durable as declared; with `false`, and without
   * having written, where a name in `expectedVersions` has another version than there (0: no row).
   */
  commit(expectedVersions: Readonly<Record<string, number>>, rows: Readonly<Record<string, StoredRow | null>>): Promise<boolean>;
}

/** The request that an intent freezes: the same bytes on every attempt. */
export interface IntentRequest {
  /** GET and HEAD change nothing, and are not intents. */
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to `baseUrl`, or absolute on an allowed origin. */
  url: string;
  /** Stored and sent as they are. Credentials do not belong here: use `authorize`. */
  headers?: Record<string, string>;
  /**
   * A JSON value (an object, an array, a number, a boolean or null), stored and sent in its canonical form (RFC
   * 8785); or `URLSearchParams`, as ordered pairs; or a string or bytes, which are opaque. The same bytes travel on
   * every attempt.
   */
  body?: Json | URLSearchParams | Uint8Array | ArrayBuffer;
  /** JSON pointers to members of a JSON body that do not make it another decision: `['/client_ts']`. */
  ignore?: readonly string[];
}

/** A decision to change something once. */
export interface Submission {
  /** What kind of change this is: `authorize-payment`. */
  operation: string;
  /** The app's stable name for it: `order-842`. `null` opts out of "same reference, same intent". */
  reference: string | null;
  /**
   * Intents of one lane of a scope are sent one after the other, in the order of submission: `table-7`. One that is held
   * blocks its lane, and no other, until it has ended or `skip()` takes it out. At most 128 bytes; 256 unfinished intents a
   * lane (`lane_full`). Without one, nothing waits for anything.
   */
  lane?: string;
  /** What to send. */
  request: IntentRequest;
  /** Drop the intent if it was never sent within this time. Default 24 h; `null` = never. */
  expiresIn?: number | null;
}

/** What an app calls an intent. */
export interface IntentName {
  /** As {@link Submission.operation}. */
  operation: string;
  /** As {@link Submission.reference}. */
  reference: string;
}

/** What a submit resolves with: that it is stored, and how safely. */
export interface Receipt {
  /** Where it is stored. */
  durability: Durability;
  /** False: this submit found the intent that was already there. */
  created: boolean;
}

/** Why an unfinished intent is waiting. */
export type Cause =
  | 'not_sent' | 'in_flight' | 'interrupted' | 'resumed' | 'processing' | 'network' | 'timeout' | 'not_the_server' | 'truncated'
  | 'server_error' | 'in_progress' | 'rate_limited' | 'unclear';

/** Why a held intent needs the app or a person. */
export type HeldReason =
  | 'auth' | 'config' | 'redirected' | 'window_closed' | 'clock_changed' | 'unresolved' | 'conflicting_answers' | 'key_burnt' | 'accepted'
  | 'undecodable' | 'moved';

/** What came back of one attempt. `open`: nothing yet; `not_sent`: it never left; `network`, `timeout`, `truncated`, `redirected`, `forbidden`, `undecodable`, `not_the_server`: nothing usable came back, and it is not known whether it arrived; the others are readings of an answer by the contract. */
export type AttemptResult =
  | 'open' | 'not_sent' | 'succeeded' | 'already_done' | 'rejected' | 'mismatched' | 'accepted' | 'in_progress' | 'rate_limited'
  | 'auth' | 'config' | 'server_error' | 'uncertain' | 'key_burnt' | 'window_closed' | 'unclear' | 'not_the_server' | 'other_key' | 'network' | 'timeout' | 'truncated'
  | 'redirected' | 'forbidden' | 'undecodable';

/** One send, as recorded on the device. */
export interface AttemptView {
  /** From 1. */
  number: number;
  /** Random: names this attempt in the ledger's journal and in {@link Diagnostics}; no server sees it. */
  correlation: string;
  /** Epoch milliseconds, by the device: recorded before the first byte left. */
  startedAt: number;
  /** Epoch milliseconds; null while nothing has come back. */
  endedAt: number | null;
  /** What came back. */
  result: AttemptResult;
  /** The HTTP status; null where no answer came. */
  status: number | null;
  /** The server says that it kept this answer from an earlier attempt. */
  replayed: boolean;
  /** What the server asked to be left alone for, in milliseconds, already clamped. */
  retryAfterMs: number | null;
}

/** What is known of an intent now. Serialisable; holds neither key nor payload. */
export interface IntentSnapshot {
  /** Random, and not the key: for `queue.intent(id)`, links and logs. */
  id: string;
  /** As submitted. */
  operation: string;
  /** As submitted; null: it has none. */
  reference: string | null;
  /** Null: it has none, or was skipped. Behind another of its lane it is `queued`, and `nextAttemptAt` is null. */
  lane: string | null;
  /** What is known of it; the README has a table of what each one means. */
  state: 'queued' | 'sending' | 'waiting' | 'accepted' | 'held'
    | 'succeeded' | 'rejected' | 'mismatched' | 'not_applied' | 'cancelled' | 'expired' | 'abandoned';
  /** First 12 hex digits of SHA-256(key): correlates with a server's log without disclosing the key. */
  keyHash: string;
  /** Why it is waiting; null in other states. */
  cause: Cause | null;
  /** Why it is held; null in other states. */
  heldReason: HeldReason | null;
  /** Could a send have left the device without a definite answer? False means cancelling is safe. */
  maybeSent: boolean;
  /** The one bit a pay button needs: false while anything is unknown. */
  safeToReplace: boolean;
  /** When it was submitted, in epoch milliseconds. */
  createdAt: number;
  /** When the next attempt is due, if one is planned. */
  nextAttemptAt: number | null;
  /** Attempts made, those in `attempts` and older ones. */
  attemptCount: number;
  /** The newest attempts, oldest first; at most 16. */
  attempts: AttemptView[];
  /** Evidence against the outcome arrived after it; the outcome stands, and somebody should look. */
  contradicted: boolean;
  /**
   * Only the tombstone is left (`purge`, or a week and more after its outcome was delivered): its body and its answer are not kept
   * any more, so that `answer` says nothing (`status: 0`).
   */
  erased: boolean;
  /** The app has asked what became of it (`reconcile`), and that is not known yet. */
  reconciling: boolean;
  /** The intent that this one took the place of, by `replace`. */
  predecessor: string | null;
  /** The intent that took this one's place. */
  successor: string | null;
}

/** What a server answered, as it was kept. */
export interface Answer {
  /** The HTTP status. */
  status: number;
  /** Without parameters; null where the answer named none. */
  mediaType: string | null;
  /** The JSON value when the media type is JSON, else the text; null when there is none or it was not kept. */
  body: Json;
  /** The server's name of what was there already, where the contract knows it: `already_done`. */
  resource: string | null;
}

/** An honest answer to "what happened?", at the time of asking. */
export type Settled = Succeeded | Rejected | Ended | Pending | Held;

/** What every answer of {@link Settled} has. */
interface Known {
  /** The intent, as it was then. */
  intent: IntentSnapshot;
}

/** What a definite answer has besides. */
interface Definite extends Known {
  /** False: the outcome is known, and the ledger did not take it; it may be found out once more after a reload. */
  durable: boolean;
}

/** A recognised answer to this key, or the word of whoever was asked, says that it was done. Once. */
export interface Succeeded extends Definite {
  /** Tells the answers apart. */
  kind: 'succeeded';
  /** What the server answered; yours to read: a 201 may say `declined`. */
  answer: Answer;
  /** Whether this answer was made now or kept from an earlier attempt, where the server says so. */
  replay: 'fresh' | 'replayed' | 'unknown';
  /** Who says it: an answer to an attempt, or `reconcile`. */
  evidence: 'reply' | 'reconciliation';
}

/** The server refused, without an effect. */
export interface Rejected extends Definite {
  /** Tells the answers apart. */
  kind: 'rejected';
  /** What the server answered. */
  answer: Answer;
  /** `stored`: under the key, so that every attempt gets it; `unstored`: it was this attempt's alone, and nothing else is unknown. */
  evidence: 'stored' | 'unstored' | 'reconciliation';
}

/** It has ended without an answer to show. */
export interface Ended extends Definite {
  /** Tells the answers apart: the states of the same names. */
  kind: 'mismatched' | 'not_applied' | 'cancelled' | 'expired' | 'abandoned';
}

/** It is stored, and goes on by itself. */
export interface Pending extends Known {
  /** Tells the answers apart. */
  kind: 'pending';
  /** Why it is not finished. */
  cause: Cause;
  /** When the next attempt is due, in epoch milliseconds, if one is planned. */
  nextAttemptAt: number | null;
}

/** It is stored, and waits for the app or a person. */
export interface Held extends Known {
  /** Tells the answers apart. */
  kind: 'held';
  /** For your code to branch on. */
  reason: HeldReason;
  /** What to do about it, for a developer to read. */
  remedy: string;
}

/** What has become of an intent, for good as far as is known. */
export type Outcome = Exclude<Settled, { kind: 'pending' | 'held' }>;

/** A handle of one intent; it stays usable after the intent has ended. */
export interface Intent {
  /** Random, and not the key. */
  readonly id: string;
  /** As submitted. */
  readonly operation: string;
  /** As submitted; null: it has none. */
  readonly reference: string | null;
  /** What its submit, or finding it, said. */
  readonly receipt: Receipt;
  /** The newest snapshot this page has seen. */
  readonly snapshot: IntentSnapshot;
  /** The one bit a pay button needs: false while anything is unknown. */
  readonly safeToReplace: boolean;
  /**
   * Waits until the intent is terminal or held, at most `within` ms (default 30 000), and says what is known.
   * `signal` ends the wait, and rejects with its reason; the intent goes on.
   */
  settled(options?: { within?: number; signal?: AbortSignal }): Promise<Settled>;
  /** True only if the intent was never sent and now never will be. */
  cancel(): Promise<boolean>;
  /** Lets a held intent run again, with the same key: its cause is mended, or the customer confirmed it. */
  resume(): Promise<void>;
  /**
   * Takes a held intent out of its lane: the others of that lane go on, and it is sent beside them, if ever. True if no lane
   * waits for it now; false if it is not held, and keeps its place.
   */
  skip(): Promise<boolean>;
  /**
   * Finds out, without sending again, what became of it: asks the app's `reconcile`, or the server by the contract's
   * lookup. Resolves with what is then known, as `settled` does. Only for an intent that may have been sent and whose
   * outcome, or whose `safeToReplace`, is not known.
   */
  reconcile(options?: { within?: number; signal?: AbortSignal }): Promise<Settled>;
  /** Gives up while the outcome is unknown. Licenses no successor; evidence that arrives later still counts. */
  abandon(options: { reason: string }): Promise<void>;
  /**
   * The next decision in this one's place, linked to it, under the same operation and reference, with a key of its
   * own; in its place in its lane, too, but behind what may have been sent meanwhile. Only while `safeToReplace` (else `not_replaceable`), and once: a second one with the same request is the
   * same successor, with another request a `reference_conflict` that carries it.
   */
  replace(request: IntentRequest, options: { reason: string; expiresIn?: number | null }): Promise<Intent>;
}

/** What `queue.on` tells, by event. */
export interface QueueEvents {
  /** An intent's record changed, and the change is durable. */
  change: IntentSnapshot;
  /** Told to whoever listens, also after the queue has opened: see {@link Queue.storageLost}. */
  storage_lost: StorageLost;
  /** Told, once, to whoever listens where intents are stored in less than `strong`: see {@link Queue.durability}. */
  degraded: { durability: Durability };
}

/**
 * The browser has evicted what was stored here, or it cannot be read and the app went on without it (`onUnreadable`). What of it was unfinished, as far as is remembered beside it, at most 200
 * intents: ask your server what became of these before anybody pays again. Of what was finished nothing is known any more.
 */
export interface StorageLost {
  /** What was not finished, by operation and reference. */
  unfinished: { operation: string; reference: string }[];
}

/** What is still to be done of a scope's intents. */
export interface Drained {
  /** Intents that are due, that nobody runs, and about which this queue can do something; at most 512 are counted. */
  due: number;
  /** When the next thing will be due, in epoch milliseconds: an attempt, a look, the end of another tab's claim. Null: nothing is planned. */
  nextAt: number | null;
}

/** A {@link Submission} and a wait, in the shape of `fetch`. */
export interface FetchInit extends Omit<IntentRequest, 'url'> {
  /** What kind of change this is: `authorize-payment`. */
  operation: string;
  /** The app's stable name for it: `order-842`. `null` opts out of "same reference, same intent". */
  reference: string | null;
  /** As {@link Submission.lane}. */
  lane?: string;
  /** As {@link Submission.expiresIn}, in milliseconds. */
  expiresIn?: number | null;
  /** How long to wait, in milliseconds. Default 30 000. */
  within?: number;
  /** Ends the wait, never the intent. */
  signal?: AbortSignal;
}

/** What `move` has packed. */
export interface Moved {
  /** Sealed: letters, digits, `-`, `_` and `.`. As long as it must be: some kilobytes an intent. */
  parcel: string;
  /** What is in it. */
  moved: IntentSnapshot[];
  /** What was being sent, and is not in it. */
  left: IntentSnapshot[];
}

/** 32 bytes, or a key for AES-GCM. Whoever has it and the parcel has the keys of your payments. */
export type ParcelSecret = Uint8Array | CryptoKey;

/** What `diagnostics()` tells of an intent that is not finished. As {@link IntentSnapshot}, of which it is a part. */
export interface DiagnosedIntent
  extends Pick<IntentSnapshot, 'id' | 'operation' | 'keyHash' | 'state' | 'cause' | 'heldReason' | 'maybeSent' | 'safeToReplace' | 'createdAt' | 'nextAttemptAt' | 'attemptCount' | 'attempts'> {
  /** Null, unless it was asked for with `references`; then as submitted. */
  reference: string | null;
  /**
   * The first 12 hex digits of SHA-256 over the scope's hash, `/` and the reference: the same in each report of a scope, and
   * no secret to somebody who guesses the reference. Null: it has none, or the page is no secure context.
   */
  referenceHash: string | null;
}

/** For a support ticket: JSON, without keys, bodies, headers or answers. */
export interface Diagnostics {
  /** The package's. */
  version: string;
  /** When it was made, in epoch milliseconds of the device. */
  at: number;
  /** The first 12 hex digits of the scope's SHA-256. */
  scopeHash: string;
  /** As {@link Queue.durability}. */
  durability: Durability;
  /** Not null: intents could not be listed, and this is the code of why. */
  error: ErrorCode | null;
  /** Intents by state, of the 1 000 that are listed. */
  counts: { [S in IntentSnapshot['state']]?: number };
  /** Those that are not finished, oldest first, at most 100. */
  unfinished: DiagnosedIntent[];
  /** How many more are not finished. */
  leftOut: number;
  /** The browser has Web Locks. */
  locks: boolean;
  /** The browser has BroadcastChannel. */
  broadcast: boolean;
  /** Null where the browser says nothing of it. */
  storage: OriginStorage | null;
  /** Engines that have died in this page. */
  engineDeaths: number;
}

/** What the browser says of the storage of the whole origin. */
export interface OriginStorage {
  /** Bytes in use, as the browser estimates it; null where it does not say. */
  usage: number | null;
  /** Bytes that may be in use; null where it does not say. */
  quota: number | null;
  /** Whether the browser promises not to evict it by itself. */
  persisted: boolean;
}

/** What `doctor()` looks at, one after the other in docs/doctor.md. */
export type DoctorCode =
  | 'tier' | 'persistence' | 'quota' | 'locks' | 'broadcast' | 'service_worker' | 'reachable' | 'probe' | 'key_header' | 'exposed_headers'
  | 'clock' | 'retention' | 'cookies' | 'held';

/** One thing that `doctor()` has looked at. */
export interface DoctorFinding {
  /** For your code to branch on. */
  code: DoctorCode;
  /** `error`: nothing can be sent like this; `warning`: something may be lost or late. */
  level: 'ok' | 'warning' | 'error';
  /** What was seen, for a developer to read. */
  what: string;
  /** What to do about it; null where nothing is wrong. */
  remedy: string | null;
}

/** An open queue of one scope. It drains by itself until it is closed. */
export interface Queue {
  /** Stores a decision, and resolves when that is durable; sending goes on by itself. The same operation and reference again is the same intent; with another payload, `reference_conflict` carries the one that is there. Rejects with an {@link IntentoError}; nothing is stored then. */
  submit(submission: Submission): Promise<Intent>;
  /** `submit` and `settled` in one call, in the shape of `fetch`. The intent is `settled.intent`. */
  fetch(url: string, init: FetchInit): Promise<Settled>;
  /** The intents of this scope, oldest first, at most 1 000. */
  intents(filter?: { state?: IntentSnapshot['state'] }): Promise<IntentSnapshot[]>;
  /**
   * The intent of that id, or the one that an operation's reference stands for: after a `replace`, the successor. `null` where
   * this scope has none.
   */
  intent(named: string | IntentName): Promise<Intent | null>;
  /**
   * A guest signs in: takes over the intents of another scope that were provably never sent. Those that may have been
   * sent keep their scope, and their reference is blocked in both: they are settled by a queue of that scope, or by
   * reconciling. What waits in a lane behind one that is left is left with it; adopt again once that has ended. Throws
   * `reference_conflict`, with both intents, where this scope has one of the same reference; nothing is adopted then. Nor is
   * a scope of more than 1 000 intents: `option_invalid`.
   */
  adopt(fromScope: string): Promise<{ moved: IntentSnapshot[]; left: IntentSnapshot[] }>;
  /**
   * Waits until nothing is under way, here or in another tab, nothing is due, and nothing will be due in the time that is left; at most `within`
   * ms (default 30 000). Says what there is to do then. What is held waits for the app, and is none of it.
   */
  drained(options?: { within?: number }): Promise<Drained>;
  /**
   * For sign-out on a device that others use: takes away what is stored of this scope, whatever it is, and resolves with a
   * list of it, as it was: finish, or note down, what of it is unfinished or undelivered. Nothing of a body, an answer, a header or
   * a key is in storage afterwards. Of what may have been sent a tombstone stays (see `erased`): its operation and
   * reference, hashes of its key and payload, and its outcome; without a definite one it is `abandoned`, and late evidence
   * still counts. So the same reference pays nothing twice. What cannot be read stays as it is; a purge that was cut short
   * goes on when it is called again.
   */
  purge(): Promise<IntentSnapshot[]>;
  /**
   * For an app whose origin changes with an upgrade (`file://` to `capacitor://`): packs every intent of this scope that is
   * unfinished, and every outcome that was not delivered, with keys, requests and attempts, into one string, encrypted and
   * authenticated under your secret. What was packed is held here (`moved`) in the same commit and never sent from here
   * again; what is being sent at this moment is `left`: move again when it has ended. A later call packs the same once
   * more, so that a parcel that is lost loses nothing.
   */
  move(options: { secret: ParcelSecret }): Promise<Moved>;
  /**
   * Takes over what `move` has packed at another origin, for the same scope, and goes on with it, with the same keys. What is
   * here already is done. Rejects with `parcel_invalid` where the parcel was changed or the secret is another, with
   * `parcel_foreign` for another scope's, and with `reference_conflict` where another intent has the reference here. If the
   * device's clock was set back by more than a minute meanwhile, what may have been sent is not sent again but asked about.
   */
  receive(parcel: string, options: { secret: ParcelSecret }): Promise<IntentSnapshot[]>;
  /** Where new intents are stored, as every receipt says. */
  readonly durability: Durability;
  /** Not null where the storage of this scope was evicted since it was last open here: told once. */
  readonly storageLost: StorageLost | null;
  /** Calls `listener` at each event, until the function that is returned is called. */
  on<E extends keyof QueueEvents>(event: E, listener: (value: QueueEvents[E]) => void): () => void;
  /**
   * What a support ticket needs, redacted: see {@link Diagnostics}. References are hashed, unless `references` says that yours
   * name nobody. Answers also while the engine cannot be asked.
   */
  diagnostics(options?: { references?: boolean }): Promise<Diagnostics>;
  /**
   * Looks at what is easily set up wrong, here and at the server: see docs/doctor.md. For development and for support; it sends
   * GET and HEAD to `probeUrl`, or to the root of `baseUrl`'s origin, and nothing else. Takes up to 30 s where nothing answers.
   */
  doctor(): Promise<DoctorFinding[]>;
  /** Lets go; the queue closes with its last holder. What is stored stays, and goes on when it is opened again. Idempotent. */
  close(): void;
}
