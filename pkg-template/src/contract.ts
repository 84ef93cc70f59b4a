import { appError, type IntentoError } from './errors.js';

/** How one server speaks idempotency, as data. Import one from `intento/contracts`, or write one with `defineContract`. */
export interface Contract {
  /** Its name, stored with each intent beside a hash of the whole. */
  readonly id: string;
  /** How the key travels. */
  readonly carrier: Carrier;
  /** What a key looks like. 128 random bits must fit: no key is ever truncated. */
  readonly key: KeyRules;
  /** Where the server repeats the key. */
  readonly echo?: { readonly header?: string; readonly pointer?: string } | null;
  /** How long the server remembers a key, in ms from the first send. 0 where there is no key. */
  readonly retentionMs: number;
  /** Another retention for URLs whose path begins so; the first that fits counts. */
  readonly retentionByPath?: readonly { readonly prefix: string; readonly retentionMs: number }[];
  /** How much of a retention is not used, in ms: for clocks, and for the length of an attempt. */
  readonly marginMs: number;
  /** A header of answers with the moment, in epoch ms, at which the server's window for the key began. */
  readonly windowStart?: { readonly header: string } | null;
  /** The methods that may carry a key here. */
  readonly methods: readonly ('POST' | 'PUT' | 'PATCH' | 'DELETE')[];
  /** What a success looks like; a 2xx of another kind is not the server's. */
  readonly success: {
    /** Inclusive ranges within 200 to 299. */
    readonly statuses: readonly (readonly [number, number])[];
    /** Without parameters; `+json` matches every structured suffix. Empty: any. */
    readonly mediaTypes: readonly string[];
    /** What must hold of the body besides. */
    readonly pointer?: PointerIs | null;
  };
  /** What marks a stored answer that is given again. */
  readonly replay?: { readonly header?: string; readonly values?: readonly string[]; readonly status?: readonly number[] } | null;
  /** When a refusal settles an intent. */
  readonly refusal: {
    /** `stored`: a refusal with the echo or the marker is conclusive. `by_rule`: only where a rule says so. */
    readonly conclusive: 'stored' | 'by_rule';
    /** One attempt reaches the server at most once: a refusal that is not stored is then enough for `safeToReplace`. */
    readonly singleDelivery?: boolean;
  };
  /** Statuses from in front of the idempotency layer. They never settle an intent. */
  readonly beforeLayer: readonly number[];
  /** Read in order, before the defaults of RFC 9110. */
  readonly rules?: readonly Rule[];
  /** Headers in which the server says whether to try again, and with what values. */
  readonly retryHints?: readonly { readonly header: string; readonly retry?: readonly string[]; readonly stop?: readonly string[] }[];
  /** Where the result of a 202 is, if `Location` is not visible. `{key}`, `{reference}`, `{operation}` are filled in. */
  readonly poll?: { readonly path?: string | null } | null;
  /** How to ask the server what became of a key. */
  readonly reconcile?: Lookup | null;
  /** Whatever else is worth keeping: name, sources, unconfirmed. */
  readonly [note: string]: unknown;
}

/** Where the key travels. */
export interface Carrier {
  /** `none`: the server knows no key, and nothing is ever sent twice. */
  readonly in: 'header' | 'body' | 'query' | 'path' | 'none';
  /** The header, the JSON pointer into the body, the query's parameter, or the word in braces in the path. */
  readonly name?: string;
  /** As an RFC 8941 string. */
  readonly quoted?: boolean;
  /** A header with the time of the first send. */
  readonly firstSent?: string | null;
}

/** What a key looks like. */
export interface KeyRules {
  /** `uuid`: version 4, in lower case with hyphens; `hex32`: 32 hex digits; `alphabet`: characters of `alphabet`. */
  readonly format: 'uuid' | 'hex32' | 'alphabet';
  /** With `alphabet`: the characters, each once. */
  readonly alphabet?: string | null;
  /** In characters. */
  readonly minLength?: number | null;
  /** In characters; a key that does not fit is refused, never cut. */
  readonly maxLength?: number | null;
}

/** A JSON pointer into an answer, and the texts it may hold; none: something other than null. `*` matches all. */
export interface PointerIs {
  /** RFC 6901. */
  readonly at: string;
  /** The value as text; `*` matches all. Absent: anything but null. */
  readonly is?: readonly string[];
}

/** Every condition that is named must hold. */
export interface When {
  /** One of these. */
  readonly status?: readonly number[];
  /** Whether the answer carries the replay marker. */
  readonly replayed?: boolean | null;
  /** A header, and the values that it may have; none: it is there. */
  readonly header?: { readonly name: string; readonly is?: readonly string[] } | null;
  /** What must hold of the body. */
  readonly pointer?: PointerIs | null;
}

/** What kind of answer it is. */
export type Verdict =
  | 'succeeded' | 'already_done' | 'rejected' | 'mismatched' | 'accepted' | 'in_progress' | 'rate_limited' | 'auth'
  | 'config' | 'retry' | 'uncertain' | 'key_burnt' | 'window_closed' | 'not_the_server';

/** What an answer of some kind means. */
export interface Rule {
  /** Which answers. */
  readonly when: When;
  /** What they are. */
  readonly then: Verdict;
  /** With `rejected`: stored under the key, or a pure function of the request. */
  readonly conclusive?: boolean;
  /** With `already_done`: a JSON pointer to the server's name of what is there. */
  readonly resource?: string | null;
  readonly [note: string]: unknown;
}

/** How to ask what became of a key, without an effect. */
export interface Lookup {
  /** `POST` where asking seals the key. */
  readonly method: 'GET' | 'POST';
  /** Null: the intent's own URL. `{key}`, `{reference}`, `{operation}` are filled in. */
  readonly path?: string | null;
  /** Read in order; an answer that fits none is `unknown`. */
  readonly rules: readonly { readonly when: When; readonly then: 'applied' | 'not_applied' | 'not_found' | 'unknown' }[];
  /** A JSON pointer to the response that the app is to get. */
  readonly responseAt?: string | null;
}

/** A contract, or what makes one of another: members that are given replace, rules and hints come before its own. */
export type OwnContract = Contract | ({ readonly extends: Contract } & Partial<Contract> & { readonly id: string });

/**
 * Makes a contract of your own and checks it. Throws `contract_invalid`; its `detail` names the field. The engine checks
 * the same again when a queue is opened with it.
 */
export function defineContract(own: OwnContract): Contract {
  if (typeof own !== 'object' || own === null) throw wrong('contract must be an object');
  const { extends: base, ...members } = own as { extends?: Contract } & Partial<Contract>;
  const contract = base === undefined ? members : extended(base, members);
  checkContract(contract);
  return freeze(contract);
}

function extended(base: Contract, own: Partial<Contract>): object {
  if (typeof base !== 'object' || base === null) throw wrong('extends must be a contract');
  const lists = ['rules', 'retryHints'] as const;
  const merged: Record<string, unknown> = { ...base, ...own };
  for (const list of lists) merged[list] = [...listOf(own[list], list), ...listOf(base[list], list)];
  return merged;
}

function listOf(value: unknown, field: string): readonly unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw wrong(`${field} must be an array`);
  return value;
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freeze);
  return Object.freeze(value);
}

/** Checks the shape, field by field; what the shape does not tell is the engine's to check. */
export function checkContract(contract: unknown): asserts contract is Contract {
  shape(contract, CONTRACT, 'contract', '');
}

/** One field's type: a check that says what the value must be, or nothing. */
type Check = (value: unknown, field: string) => void;

const string: Check = (value, field) => must(typeof value === 'string', field, 'be a string');
const boolean: Check = (value, field) => must(typeof value === 'boolean', field, 'be true or false');
const whole: Check = (value, field) => must(Number.isSafeInteger(value) && (value as number) >= 0, field, 'be a whole number');
const status: Check = (value, field) => must(Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 999, field, 'be a status');
const one = (...names: string[]): Check => (value, field) => must(names.includes(value as string), field, `be one of ${names.join(', ')}`);
const list = (check: Check): Check => (value, field) => {
  must(Array.isArray(value), field, 'be an array');
  for (const item of value as unknown[]) check(item, field);
};
const record = (members: Members): Check => (value, field) => shape(value, members, field, `${field}.`);
const range: Check = (value, field) => {
  must(Array.isArray(value) && value.length === 2, field, 'be pairs of statuses');
  for (const bound of value as unknown[]) status(bound, field);
};

/** Name to check; a name that ends in `?` may be missing or null. */
type Members = Record<string, Check>;

const POINTER_IS = record({ at: string, 'is?': list(string) });
const WHEN = record({
  'status?': list(status), 'replayed?': boolean, 'header?': record({ name: string, 'is?': list(string) }), 'pointer?': POINTER_IS,
});
const VERDICT = one(
  'succeeded', 'already_done', 'rejected', 'mismatched', 'accepted', 'in_progress', 'rate_limited', 'auth', 'config',
  'retry', 'uncertain', 'key_burnt', 'window_closed', 'not_the_server',
);
const CONTRACT: Members = {
  id: string,
  carrier: record({ in: one('header', 'body', 'query', 'path', 'none'), 'name?': string, 'quoted?': boolean, 'firstSent?': string }),
  key: record({ format: one('uuid', 'hex32', 'alphabet'), 'alphabet?': string, 'minLength?': whole, 'maxLength?': whole }),
  'echo?': record({ 'header?': string, 'pointer?': string }),
  retentionMs: whole,
  'retentionByPath?': list(record({ prefix: string, retentionMs: whole })),
  marginMs: whole,
  'windowStart?': record({ header: string }),
  methods: list(one('POST', 'PUT', 'PATCH', 'DELETE')),
  success: record({ statuses: list(range), mediaTypes: list(string), 'pointer?': POINTER_IS }),
  'replay?': record({ 'header?': string, 'values?': list(string), 'status?': list(status) }),
  refusal: record({ conclusive: one('stored', 'by_rule'), 'singleDelivery?': boolean }),
  beforeLayer: list(status),
  'rules?': list(record({ when: WHEN, then: VERDICT, 'conclusive?': boolean, 'resource?': string })),
  'retryHints?': list(record({ header: string, 'retry?': list(string), 'stop?': list(string) })),
  'poll?': record({ 'path?': string }),
  'reconcile?': record({
    method: one('GET', 'POST'), 'path?': string, 'responseAt?': string,
    rules: list(record({ when: WHEN, then: one('applied', 'not_applied', 'not_found', 'unknown') })),
  }),
};

function shape(value: unknown, members: Members, field: string, prefix: string): void {
  must(typeof value === 'object' && value !== null && !Array.isArray(value), field, 'be an object');
  for (const [named, check] of Object.entries(members)) {
    const optional = named.endsWith('?');
    const name = optional ? named.slice(0, -1) : named;
    const member = Object.hasOwn(value as object, name) ? (value as Record<string, unknown>)[name] : undefined;
    if (optional && (member === undefined || member === null)) continue;
    must(member !== undefined, `${prefix}${name}`, 'be given');
    check(member, `${prefix}${name}`);
  }
}

function must(holds: boolean, field: string, what: string): void {
  if (!holds) throw wrong(`${field} must ${what}`);
}

function wrong(detail: string): IntentoError {
  return appError('contract_invalid', 'Correct the field that the detail names.', detail);
}
