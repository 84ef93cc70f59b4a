import { canonicalJson, elements, isPlain, isWellFormed } from './canonical-json.js';
import { CardData } from './card-data.js';
import { checkContract } from './contract.js';
import { appError, IntentoError } from './errors.js';
import type { AppStore, IntentName, Outcome, QueueOptions, Submission } from './types.js';

/** What the engine takes: own properties only, so that a polluted prototype cannot add an option. */
export interface PlainOptions {
  scope: string | null;
  contractText: string | null;
  /** Where in a body the key stands; null: it does not stand there. */
  keyAt: string | null;
  baseUrl: string | null;
  extraOrigins: readonly string[];
  probeUrl: string | null;
  attemptDeadlineMs: number | null;
  session: string | null;
  unboundCookies: boolean;
  backgroundSync: boolean;
  minDurability: string | null;
  onUnreadable: string | null;
  /** What the app's own store promises. */
  storeDurability: string | null;
  store: AppStore | null;
  authorize: QueueOptions['authorize'] | null;
  reconcile: QueueOptions['reconcile'] | null;
  prepare: QueueOptions['prepare'] | null;
  fetch: QueueOptions['fetch'] | null;
  decode: QueueOptions['decode'] | null;
  /** Operations with a handler, sorted. */
  handled: string[];
  onOutcome: ReadonlyMap<string, (outcome: Outcome) => void | Promise<void>>;
  /** Operations that may send card data, sorted. */
  allowCardData: string[];
}

export function plainOptions(options: QueueOptions): PlainOptions {
  // Such a member takes part in every promise, the platform's own included: nothing that waits for one is to be trusted.
  if ('then' in Object.prototype) throw invalid('Object.prototype.then');
  return reading(() => readOptions(options));
}

/** `wasm` is the slim entry's. */
const OPTIONS: ReadonlySet<string> = /* @__PURE__ */ new Set([
  'scope', 'contract', 'baseUrl', 'extraOrigins', 'probeUrl', 'attemptDeadlineMs', 'session', 'unboundCookies', 'backgroundSync', 'minDurability',
  'onUnreadable', 'store', 'authorize', 'reconcile', 'prepare', 'fetch', 'decode', 'onOutcome', 'allowCardData', 'wasm',
]);

function readOptions(options: QueueOptions): PlainOptions {
  if (typeof options !== 'object' || options === null) throw invalid('options');
  // A misspelt handler would be found out by the first outcome that nobody hears of.
  const unknown = Object.keys(options).find((name) => !OPTIONS.has(name));
  if (unknown !== undefined) throw invalid(unknown);
  const contract = plainContract(own(options, 'contract'));
  const onOutcome = handlers(own(options, 'onOutcome'));
  const store = own(options, 'store') ?? null;
  if (store !== null && !isStore(store)) throw invalid('store');
  return {
    scope: text(own(options, 'scope'), 'scope'),
    contractText: contract?.text ?? null,
    keyAt: contract?.keyAt ?? null,
    baseUrl: text(own(options, 'baseUrl'), 'baseUrl'),
    extraOrigins: texts(own(options, 'extraOrigins'), 'extraOrigins'),
    probeUrl: text(own(options, 'probeUrl'), 'probeUrl'),
    attemptDeadlineMs: numeric(own(options, 'attemptDeadlineMs'), 'attemptDeadlineMs'),
    session: text(own(options, 'session'), 'session'),
    unboundCookies: own(options, 'unboundCookies') === true,
    backgroundSync: own(options, 'backgroundSync') === true,
    minDurability: text(own(options, 'minDurability'), 'minDurability'),
    onUnreadable: text(own(options, 'onUnreadable'), 'onUnreadable'),
    storeDurability: store?.durability ?? null,
    store,
    authorize: callable(own(options, 'authorize'), 'authorize'),
    reconcile: callable(own(options, 'reconcile'), 'reconcile'),
    prepare: callable(own(options, 'prepare'), 'prepare'),
    fetch: callable(own(options, 'fetch'), 'fetch'),
    decode: callable(own(options, 'decode'), 'decode'),
    handled: [...onOutcome.keys()].sort(),
    onOutcome,
    allowCardData: texts(own(options, 'allowCardData'), 'allowCardData').sort(),
  };
}

/** Its methods may be inherited: an app's store is an instance of a class of its own. */
function isStore(store: unknown): store is AppStore {
  if (typeof store !== 'object' || store === null) return false;
  const { durability, read, scan, commit } = store as Record<keyof AppStore, unknown>;
  return isText(durability) && [read, scan, commit].every((method) => typeof method === 'function');
}

/** A contract as the engine takes it. Its identity is the hash of the text. Null: none was given. */
function plainContract(contract: unknown): { text: string; keyAt: string | null } | null {
  if (contract === undefined) return null;
  // Once: what is checked is what is kept.
  const text = contractText(contract);
  const read: unknown = JSON.parse(text);
  checkContract(read);
  return { text, keyAt: read.carrier.in === 'body' ? (read.carrier.name ?? '') : null };
}

function contractText(contract: unknown): string {
  try {
    return canonicalJson(withoutNulls(contract));
  } catch (error) {
    const detail = error instanceof IntentoError ? error.detail : null;
    throw appError('contract_invalid', 'Pass plain JSON data: import a contract from intento/contracts.', detail, error);
  }
}

/** Null and undefined members are members that are not there. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return elements(value).map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined && member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}

export interface PlainSubmission {
  /** What the engine takes of a decision: JSON text, and the bytes of a body that is no text. */
  plain: [text: string, bytes: Uint8Array | undefined];
  hasReference: boolean;
}

/** What a queue was opened with, and each of its submissions is read by. */
export type SubmissionTerms = Pick<PlainOptions, 'keyAt' | 'allowCardData'>;

export function plainSubmission(submission: Submission, terms: SubmissionTerms): PlainSubmission {
  return reading(() => readSubmission(submission, terms));
}

function readSubmission(submission: Submission, { keyAt, allowCardData }: SubmissionTerms): PlainSubmission {
  if (typeof submission !== 'object' || submission === null) throw invalid('submission');
  const request = own(submission, 'request');
  if (typeof request !== 'object' || request === null) throw invalid('request');
  const reference = own(submission, 'reference');
  const expiresIn = own(submission, 'expiresIn');
  if (expiresIn !== undefined && expiresIn !== null && !(whole(expiresIn) >= 1)) {
    throw appError('expires_in_invalid', 'Pass expiresIn as milliseconds above 0, or null for never.');
  }
  if (reference !== undefined && reference !== null && !isText(reference)) {
    throw appError('reference_invalid', 'Pass reference as a string, or null to opt out.');
  }
  const operation = text(own(submission, 'operation'), 'operation') ?? '';
  const cards = new CardData(allowCardData.includes(operation));
  const [body, bytes] = plainBody(own(request, 'body'), own(request, 'ignore'), keyAt, cards);
  const lane = text(own(submission, 'lane'), 'lane');
  const url = text(own(request, 'url'), 'url') ?? '';
  const headers = headerPairs(own(request, 'headers'));
  for (const [place, value] of [['url', url], ['reference', reference ?? ''], ['lane', lane ?? ''], ...headers] as const) cards.look(value, place);
  const plain = {
    operation,
    hasReference: reference !== undefined,
    reference: reference ?? null,
    lane,
    method: text(own(request, 'method'), 'method') ?? '',
    url,
    headers,
    body,
    hasExpiresIn: expiresIn !== undefined,
    expiresIn: expiresIn == null ? null : whole(expiresIn),
    cardData: cards.found,
  };
  return { plain: [canonicalJson(plain), bytes], hasReference: plain.reference !== null };
}

/** What an intent is named by, as the engine takes it: its id, or its reference and operation. */
export function plainName(named: string | IntentName): [name: string, operation?: string] {
  if (typeof named !== 'object') return [String(named)];
  return reading(() => [text(own(named, 'reference'), 'reference') ?? '', text(own(named, 'operation'), 'operation') ?? '']);
}

type PlainBody = [stated: object | null, bytes?: Uint8Array];

/** The bytes that travel, and for JSON what makes it the same decision. */
function plainBody(body: unknown, ignore: unknown, keyAt: string | null, cards: CardData): PlainBody {
  if (ignore !== undefined && !Array.isArray(ignore)) throw invalid('ignore');
  const pointers = elements(ignore ?? []);
  if (!pointers.every((pointer) => typeof pointer === 'string' && pointer.startsWith('/'))) throw invalid('ignore');
  const opaque = opaqueBody(body, cards);
  if (opaque !== undefined) {
    if (pointers.length > 0) throw invalid('ignore');
    return opaque;
  }
  // Read once: what is looked at, what travels and what is compared are of the same value.
  const read = canonicalJson(body, { exact: true, look: (value, at, name) => cards.look(value, at === '' ? 'body' : at, name) });
  if (pointers.length === 0 && keyAt === null) return [{ kind: 'json', text: read, compared: null }];
  const value: unknown = JSON.parse(read);
  const text = canonicalJson(value, { exact: true, ...(keyAt === null ? {} : { keyAt }) });
  const compared = canonicalJson(value, { exact: true, leftOut: new Set(pointers as string[]) });
  return [{ kind: 'json', text, compared }];
}

/** Undefined: a JSON value. Bytes are copied: the app may go on writing into its own. */
function opaqueBody(body: unknown, cards: CardData): PlainBody | undefined {
  if (body === undefined) return [null];
  if (typeof body === 'string') {
    cards.look(body, 'body');
    return [{ kind: 'text', text: wellFormed(body) }];
  }
  if (body instanceof URLSearchParams) {
    cards.form(body);
    return [{ kind: 'form', text: URLSearchParams.prototype.toString.call(body) }];
  }
  if (body instanceof ArrayBuffer) return [{ kind: 'bytes' }, new Uint8Array(body.slice(0))];
  if (ArrayBuffer.isView(body)) {
    return [{ kind: 'bytes' }, new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()];
  }
  return undefined;
}

/** Refuses text that would not travel unchanged, as JSON's strings do. */
function wellFormed(text: string): string {
  canonicalJson(text);
  return text;
}

/** Headers as pairs. Values must be strings: a number or an array would travel as something else than it is. */
export function headerPairs(headers: unknown): [string, string][] {
  if (headers === undefined) return [];
  // `Headers` and maps have no members of their own: they would be taken for none.
  if (typeof headers !== 'object' || headers === null || !isPlain(headers)) throw invalid('headers');
  return Object.entries(headers).map(([name, value]) => {
    if (!isText(name) || !isText(value)) throw appError('header_invalid', 'Pass header values as strings.', name);
    return [name, value];
  });
}

/** A member that is the object's own; undefined where there is no object. */
export function own<T extends object, K extends keyof T & string>(from: T | null | undefined, name: K): T[K] | undefined {
  return from !== null && from !== undefined && Object.hasOwn(from, name) ? from[name] : undefined;
}

/** How long somebody waits, in milliseconds, and until what. */
export function plainWait(options: { within?: number; signal?: AbortSignal } | undefined): [number | undefined, AbortSignal | undefined] {
  const within = own(options, 'within');
  const signal = own(options, 'signal');
  if (within !== undefined && (typeof within !== 'number' || Number.isNaN(within))) throw invalid('within');
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid('signal');
  return [within, signal];
}

/** What the app's own getters and proxies throw is told as an error of its input. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof IntentoError) throw error;
    throw appError('option_invalid', 'Pass plain data: what was passed threw when it was read.', null, error);
  }
}

function handlers(named: unknown): PlainOptions['onOutcome'] {
  if (named === undefined) return new Map();
  if (typeof named !== 'object' || named === null) throw invalid('onOutcome');
  const entries = Object.entries(named);
  if (entries.some(([, handler]) => typeof handler !== 'function')) throw invalid('onOutcome');
  return new Map(entries);
}

function text(value: unknown, name: string): string | null {
  if (value === undefined || value === null) return null;
  if (!isText(value)) throw invalid(name);
  return value;
}

function texts(list: unknown, name: string): string[] {
  if (list !== undefined && !Array.isArray(list)) throw invalid(name);
  return elements(list ?? []).map((item) => text(item, name) ?? '');
}

/** A string that crosses unchanged: as UTF-8, a lone surrogate would become another character. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && isWellFormed(value);
}

function numeric(value: unknown, name: string): number | null {
  if (value === undefined) return null;
  const number = whole(value);
  if (Number.isNaN(number)) throw invalid(name);
  return number;
}

/** Without its fraction; NaN where it is no number that can be carried exactly. */
function whole(value: unknown): number {
  const number = typeof value === 'number' ? Math.trunc(value) : NaN;
  return Number.isSafeInteger(number) ? number : NaN;
}

function callable<F>(value: F | undefined, name: string): F | null {
  if (value === undefined) return null;
  if (typeof value !== 'function') throw invalid(name);
  return value;
}

function invalid(name: string) {
  return appError('option_invalid', 'Correct the option that the detail names.', name);
}
