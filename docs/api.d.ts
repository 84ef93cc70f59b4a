// What `intento` declares, file by file. Written by UPDATE_DOCS=1 cargo xtask docs.

// bridge.d.ts

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
export declare const HOST_MEMBER = "__intentoHost";
/** A commit that records the largest answer beside its intent, three times over. */
export declare const MESSAGE_MAX_CHARS: number;
/** A page of a scan ends after the row that passes this. */
export declare const SCAN_PAGE_CHARS: number;
/** How many asks of one side may be under way; more wait at the asker, and are not run by the other. */
export declare const ASKS_MAX = 64;
export declare const NAMES_MAX = 4096;
export declare const NAME_MAX_CHARS = 1024;
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
    hello: {
        ask: object;
        answer: {
            state: DeviceState;
            durability: string | null;
        };
    };
    read: {
        ask: {
            names: readonly string[];
        };
        answer: readonly (StoredRow | null)[];
    };
    scan: {
        ask: {
            prefix: string;
            after: string | null;
        };
        answer: {
            rows: readonly (readonly [string, StoredRow])[];
            more: boolean;
        };
    };
    commit: {
        ask: {
            expected: readonly (readonly [string, number])[];
            rows: readonly (readonly [string, StoredRow | null])[];
        };
        answer: boolean;
    };
    outcome: {
        ask: {
            outcome: HostOutcome;
        };
        answer: null;
    };
    change: {
        ask: {
            intent: IntentSnapshot;
        };
        answer: null;
    };
};
/** What the host may ask of the page. */
export type PageVerbs = {
    /** `serial` counts up: an older one that comes later is no news. */
    state: {
        ask: {
            state: DeviceState;
            serial: number;
        };
        answer: null;
    };
    intents: {
        ask: object;
        answer: readonly IntentSnapshot[];
    };
    cancel: {
        ask: {
            id: string;
        };
        answer: boolean;
    };
    resume: {
        ask: {
            id: string;
        };
        answer: null;
    };
    reconcile: {
        ask: {
            id: string;
        };
        answer: IntentSnapshot;
    };
};
export type Verbs = Record<string, {
    ask: object;
    answer: unknown;
}>;
/** Why something did not cross the bridge. */
export type BridgeErrorCode = 
/** The page is in no webview of a host, or the host has not answered. */
'host_missing'
/** `source` names no https origin: with `html`, add `baseUrl`. */
 | 'origin_invalid'
/** No source of random bits. */
 | 'entropy_unavailable'
/** The page was reloaded, its process died, or the webview was taken away. */
 | 'page_gone'
/** No answer within the deadline; whether it was run is not known. */
 | 'timed_out' | 'too_large'
/** The page has no queue open, or the app no store. */
 | 'absent'
/** The host's storage has failed, or holds what cannot be read. */
 | 'store_failed'
/** The other side tried and failed; `detail` is the code of its error, if it had one. */
 | 'failed';
/** Holds neither key nor payload. Branch on `code`. */
export declare class BridgeError extends Error {
    /** `BridgeError`. */
    readonly name = "BridgeError";
    /** Why. */
    readonly code: BridgeErrorCode;
    /** What is meant: an option, or the code of the other side's error. */
    readonly detail: string | null;
    constructor(code: BridgeErrorCode, detail?: string | null);
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
    failed?: {
        code: BridgeErrorCode;
        detail: string | null;
    };
}
/** Why a message was not listened to. */
export type Refusal = 'too_large' | 'malformed' | 'unknown_verb' | 'wrong_nonce' | 'foreign_origin' | 'dead_session';
/** What crosses from the page to the host, checked in depth: nothing else reaches the host's code. */
export declare const HOST_ASKS: {
    readonly [V in keyof HostVerbs]: (ask: Fields) => boolean;
};
export declare const PAGE_ASKS: {
    readonly [V in keyof PageVerbs]: (ask: Fields) => boolean;
};
type Fields = Readonly<Record<string, unknown>>;
/** A message that `asks` admits, or why it is none. */
export declare function readMessage(text: unknown, asks: Readonly<Record<string, (ask: Fields) => boolean>>): Ask | Answer | Refusal;
/** A message's text. Throws `too_large`. */
export declare function writeMessage(message: Ask | Answer): string;
export {};

// contract.d.ts

/** How one server speaks idempotency, as data. Import one from `intento/contracts`, or write one with `defineContract`. */
export interface Contract {
    /** Its name, stored with each intent beside a hash of the whole. */
    readonly id: string;
    /** How the key travels. */
    readonly carrier: Carrier;
    /** What a key looks like. 128 random bits must fit: no key is ever truncated. */
    readonly key: KeyRules;
    /** Where the server repeats the key. */
    readonly echo?: {
        readonly header?: string;
        readonly pointer?: string;
    } | null;
    /** How long the server remembers a key, in ms from the first send. 0 where there is no key. */
    readonly retentionMs: number;
    /** Another retention for URLs whose path begins so; the first that fits counts. */
    readonly retentionByPath?: readonly {
        readonly prefix: string;
        readonly retentionMs: number;
    }[];
    /** How much of a retention is not used, in ms: for clocks, and for the length of an attempt. */
    readonly marginMs: number;
    /** A header of answers with the moment, in epoch ms, at which the server's window for the key began. */
    readonly windowStart?: {
        readonly header: string;
    } | null;
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
    readonly replay?: {
        readonly header?: string;
        readonly values?: readonly string[];
        readonly status?: readonly number[];
    } | null;
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
    readonly retryHints?: readonly {
        readonly header: string;
        readonly retry?: readonly string[];
        readonly stop?: readonly string[];
    }[];
    /** Where the result of a 202 is, if `Location` is not visible. `{key}`, `{reference}`, `{operation}` are filled in. */
    readonly poll?: {
        readonly path?: string | null;
    } | null;
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
    readonly header?: {
        readonly name: string;
        readonly is?: readonly string[];
    } | null;
    /** What must hold of the body. */
    readonly pointer?: PointerIs | null;
}
/** What kind of answer it is. */
export type Verdict = 'succeeded' | 'already_done' | 'rejected' | 'mismatched' | 'accepted' | 'in_progress' | 'rate_limited' | 'auth' | 'config' | 'retry' | 'uncertain' | 'key_burnt' | 'window_closed' | 'not_the_server';
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
    readonly rules: readonly {
        readonly when: When;
        readonly then: 'applied' | 'not_applied' | 'not_found' | 'unknown';
    }[];
    /** A JSON pointer to the response that the app is to get. */
    readonly responseAt?: string | null;
}
/** A contract, or what makes one of another: members that are given replace, rules and hints come before its own. */
export type OwnContract = Contract | ({
    readonly extends: Contract;
} & Partial<Contract> & {
    readonly id: string;
});
/**
 * Makes a contract of your own and checks it. Throws `contract_invalid`; its `detail` names the field. The engine checks
 * the same again when a queue is opened with it.
 */
export declare function defineContract(own: OwnContract): Contract;
/** Checks the shape, field by field; what the shape does not tell is the engine's to check. */
export declare function checkContract(contract: unknown): asserts contract is Contract;

// contracts.d.ts

import type { Contract } from './contract.js';

export { defineContract } from './contract.js';

/** Adyen Checkout and Management. Read on 2026-11-30, first of all https://docs.adyen.com/development-resources/api-idempotency/. */
export declare const adyen: Contract;
/** Amazon Pay v2. Read on 2026-11-30, first of all https://developer.amazon.com/docs/amazon-pay-api-v2/idempotency.html. */
export declare const amazonPay: Contract;
/** Azure: OASIS Repeatable Requests 1.0. Read on 2026-11-30, first of all https://docs.oasis-open.org/odata/repeatable-requests/v1.0/repeatable-requests-v1.0.html. */
export declare const azureRepeatability: Contract;
/** Braintree GraphQL, at most once. Read on 2026-11-30, first of all https://developer.paypal.com/braintree/graphql/integration_guides/idempotency. */
export declare const braintree: Contract;
/** A server of your own that speaks Idempotency-Key. Read on 2026-11-30, first of all draft-ietf-httpapi-idempotency-key-header-06, sections 2.6 and 2.7 (409 in progress). */
export declare const generic: Contract;
/** GoCardless. Read on 2026-11-30, first of all github.com/gocardless/gocardless-pro-python@d5c83f3 gocardless_pro/errors.py, client.py. */
export declare const gocardless: Contract;
/** Google APIs with request_id (AIP-155). Read on 2026-11-30, first of all https://google.aip.dev/155. */
export declare const googleAip: Contract;
/** The Idempotency-Key draft of the IETF. Read on 2026-11-30, first of all draft-ietf-httpapi-idempotency-key-header-06, sections 2.1 to 2.7. */
export declare const ietf: Contract;
/** Mollie. Read on 2026-11-30, first of all github.com/mollie/api-documentation@3088762 source/overview/api-idempotency.rst. */
export declare const mollie: Contract;
/** A server that knows no key. Read on 2026-11-30, first of all RFC 9110 section 9.2.2. */
export declare const none: Contract;
/** Open Finance Brasil: payments 4. Read on 2026-11-30, first of all github.com/OpenBanking-Brasil/openapi@9116cf0 swagger-apis/payments/4.0.0.yml. */
export declare const openfinanceBr: Contract;
/** PayPal REST. Read on 2026-11-30, first of all github.com/paypal/paypal-rest-api-specifications@ec4d8f3 openapi/*.json. */
export declare const paypal: Contract;
/** Pix API of the Banco Central do Brasil: charges. Read on 2026-11-30, first of all github.com/bacen/pix-api@1f1b568 openapi.yaml. */
export declare const pix: Contract;
/** Square. Read on 2026-11-30, first of all github.com/square/connect-api-specification@5733f66 api.json. */
export declare const square: Contract;
/** Stripe API v2. Read on 2026-11-30, first of all https://docs.stripe.com/api/idempotent_requests?api-version=2026-09-30.preview. */
export declare const stripeV2: Contract;
/** Stripe API v1. Read on 2026-11-30, first of all https://docs.stripe.com/api/idempotent_requests. */
export declare const stripe: Contract;

// errors.d.ts

import type { IntentSnapshot } from './types.js';
/** Every way a call can fail. The engine has the same list; a test compares them. */
export type ErrorCode = 'contract_missing' | 'contract_invalid' | 'scope_missing' | 'scope_too_long' | 'option_invalid' | 'options_conflict' | 'operation_invalid' | 'reference_missing' | 'reference_invalid' | 'reference_too_long' | 'reference_conflict' | 'lane_invalid' | 'method_not_allowed' | 'url_invalid' | 'url_cleartext' | 'url_foreign_origin' | 'header_forbidden' | 'header_invalid' | 'body_unstorable' | 'body_too_large' | 'card_data' | 'key_place_invalid' | 'expires_in_invalid' | 'not_replaceable' | 'not_resumable' | 'not_reconcilable' | 'reconcile_unavailable' | 'reason_invalid' | 'parcel_invalid' | 'parcel_foreign' | 'unknown_intent' | 'closed' | 'ledger_full' | 'lane_full' | 'wasm_unavailable' | 'entropy_unavailable' | 'storage_unavailable' | 'durability_too_low' | 'ledger_unreadable' | 'storage_failed' | 'commit_unknown' | 'engine_dead';
/** Who can mend it: the calling code, the browser or its policy, the device's storage, or intento. */
export type Blame = 'app' | 'platform' | 'storage' | 'intento';
/** The one error class. Branch on `code`; show `remedy` to a developer. Holds neither key nor payload. */
export declare class IntentoError extends Error {
    /** For telling it from other errors, also those of another copy of the package. */
    readonly name = "IntentoError";
    /** Stable: a closed union, listed in docs/errors.md. */
    readonly code: ErrorCode;
    /** Whose it is to mend. */
    readonly blame: Blame;
    /** What to do, in one sentence. */
    readonly remedy: string;
    /** A name from the app's own code: an option, a field, a header. */
    readonly detail: string | null;
    /** With `reference_conflict`: the intent that already has this reference. */
    readonly existing: IntentSnapshot | null;
    /** With `reference_conflict` of `adopt`: the other scope's intent. */
    readonly conflicting: IntentSnapshot | null;
    /** @internal */
    constructor(plain: PlainError, cause?: unknown);
}
/** What the engine rejects with. */
export interface PlainError {
    code: ErrorCode;
    blame: Blame;
    remedy: string;
    detail: string | null;
    existing: IntentSnapshot | null;
    conflicting?: IntentSnapshot | null;
}
/** The engine's plain error as the one error class; anything else means that intento itself has failed. */
export declare function asIntentoError(error: unknown): IntentoError;
/** `cause` is what ended the engine. */
export declare function engineDead(cause: unknown): IntentoError;
/** An engine's death is nobody's rejection; whoever gathers the page's errors gets it. */
export declare function reportDeath(cause: unknown): void;
/** The platform lacks or refuses what the engine needs; `cause` is what it said. */
export declare function platformError(code: ErrorCode, remedy: string, cause?: unknown): IntentoError;
/** An error of this face, before the engine is asked. */
export declare function appError(code: ErrorCode, remedy: string, detail?: string | null, cause?: unknown): IntentoError;

// host-store.d.ts

import type { AppStore, Durability } from './types.js';
/** What is asked of a native key-value storage: AsyncStorage has it as it is. Each `setItem` is there whole or not at all. */
export interface KeyValueStorage {
    /** The value, or null where there is none. */
    getItem(key: string): Promise<string | null>;
    /** Resolves when it is stored. */
    setItem(key: string, value: string): Promise<void>;
    /** Resolves when it is gone, or was not there. */
    removeItem(key: string): Promise<void>;
    /** Of whoever uses the storage. */
    getAllKeys(): Promise<readonly string[]>;
}
/** What is asked of an MMKV instance, of any version. */
export interface MMKVStorage {
    /** The value, or undefined where there is none. */
    getString(key: string): string | undefined;
    /** Stored when it returns. */
    set(key: string, value: string): void;
    /** Of whoever uses the instance. */
    getAllKeys(): string[];
    /** Version 3 and earlier. */
    delete?(key: string): unknown;
    /** Since version 4. */
    remove?(key: string): unknown;
}
/** The native side's storage, by namespace. Webviews of one app that share a namespace share their intents, as tabs do. */
export interface HostStorage {
    /** What it promises, as receipts in the page say. */
    readonly durability: Durability;
    /** The rows of one namespace. */
    open(namespace: string): AppStore;
}
/**
 * Keeps intents in `storage`, under keys that begin with `intento/`. `durability` is what you vouch for: by default
 * `strong_relaxed`, a crash of the app; whether AsyncStorage waits for the disk its documentation does not say.
 */
export declare function asyncStorage(storage: KeyValueStorage, { durability }?: {
    durability?: Durability;
}): HostStorage;
/** As {@link asyncStorage}, on MMKV: mapped memory, which survives the app and not a power cut. */
export declare function mmkvStorage(mmkv: MMKVStorage, options?: {
    durability?: Durability;
}): HostStorage;

// host.d.ts

import { type DeviceState, type HostOutcome, type Refusal } from './bridge.js';
import type { HostStorage } from './host-store.js';
import type { IntentSnapshot } from './types.js';
/** What an app tells its side of a webview. */
export interface HostOptions {
    /** The one origin whose pages are listened to, exactly: `https://shop.example`. https, or http on loopback. */
    origin: string;
    /** Where the page's intents are kept. Without it, the page keeps them itself. */
    storage?: HostStorage | undefined;
    /** Whose rows of the storage the page may see; by default its origin's. Name one if the page's origin may change. */
    namespace?: string | undefined;
    /**
     * An outcome, at least once: again if this rejects, takes longer than 25 s, or the app ends meanwhile. Resolving
     * acknowledges it.
     */
    onOutcome?: ((outcome: HostOutcome) => void | Promise<void>) | undefined;
    /** A change of an intent that the page was told of; may be missed. */
    onChange?: ((intent: IntentSnapshot) => void) | undefined;
    /** A message was not listened to. Nothing of what it says is passed on. */
    onRefused?: ((refusal: Refusal) => void) | undefined;
    /** Unpredictable bytes. By default `crypto.getRandomValues`, which React Native has with `react-native-get-random-values`. */
    randomBytes?: ((length: number) => Uint8Array) | undefined;
}
/** What a webview says of a message: `event.nativeEvent` of react-native-webview. */
export interface WebViewMessage {
    /** What the page posted. */
    data: string;
    /** Of the frame that sent it, or of the page. */
    url: string;
}
/**
 * The native side of one webview. Rejections are {@link BridgeError}s: `page_gone` or `timed_out` where the page did not
 * answer, `absent` where it has no queue, `failed` with the code of the queue's error.
 */
export interface IntentoHost {
    /** To be run in the main frame before content loads; new with each life of the webview. */
    readonly script: string;
    /** Has a page been heard of that is there now? */
    readonly connected: boolean;
    /** Counts the lives of the webview: one that has died is to be made anew, not reloaded. */
    readonly lives: () => number;
    /** Tells when {@link lives} or {@link connected} has changed. */
    readonly subscribe: (listener: () => void) => () => void;
    /** Where to run a script in the page; null while there is no webview. */
    attach(run: ((script: string) => void) | null): void;
    /** Takes what a webview hands over. */
    receive(message: WebViewMessage): void;
    /** What the app knows of the device: a reason for the page to look, or to begin nothing. */
    setState(state: Partial<DeviceState>): void;
    /** The webview's process has died. False: it has died too often lately, and is left as it is. */
    restart(): boolean;
    /** The intents of the page's queue, oldest first. */
    intents(): Promise<readonly IntentSnapshot[]>;
    /** True only if the intent was never sent and now never will be. */
    cancel(id: string): Promise<boolean>;
    /** Lets a held intent run again, with the same key. */
    resume(id: string): Promise<void>;
    /** Finds out, without sending again, what became of it. */
    reconcile(id: string): Promise<IntentSnapshot>;
    /** Idempotent: nothing is heard or said any more. */
    close(): void;
}
/** Throws a {@link BridgeError}: `origin_invalid` or `entropy_unavailable`. Needs neither React nor a browser. */
export declare function createHost(options: HostOptions): IntentoHost;
/** The origin of what a webview is to show; null where it would have none (`html` without `baseUrl`), or an insecure one. */
export declare function originOf(url: string | undefined): string | null;

// iife.d.ts

/** A classic script: it makes one global, and exports nothing. */

declare global {
  /** What `intento` exports, in a page that loads the classic script. */
  var intento: {
    /** See `openQueue` of `intento`. */
    openQueue: typeof import('./index.js').openQueue;
    /** See `IntentoError` of `intento`. */
    IntentoError: typeof import('./index.js').IntentoError;
    /** See `intento/contracts`. */
    contracts: typeof import('./contracts.js');
    /** See `intento/service-worker`. */
    drainOnSync: typeof import('./service-worker.js').drainOnSync;
    /** See `intento/react-native/page`. */
    connectHost: typeof import('./react-native-page.js').connectHost;
  };
}

export {};

// index.d.ts

import type { Queue, QueueOptions } from './types.js';
export { IntentoError } from './errors.js';
export type { Blame, ErrorCode } from './errors.js';
export type * from './types.js';
/**
 * Opens the queue of one scope and starts to drain it. A second call with the same scope returns the same queue,
 * counted: it closes with the last `close()`. Nothing is loaded before the first call.
 *
 * Rejects with an {@link IntentoError}; nothing is stored or sent then.
 */
export declare function openQueue(options: QueueOptions): Promise<Queue>;

// react-native-host.d.ts

/**
 * `intento/react-native/host`: the native side of a webview's page without React and without react-native-webview, for whoever wires a
 * webview by hand, and for tests without a device.
 */
export { BridgeError } from './bridge.js';
export type { BridgeErrorCode, DeviceState, HostAnswer, HostOutcome, Refusal } from './bridge.js';
export { createHost } from './host.js';
export type { HostOptions, IntentoHost, WebViewMessage } from './host.js';
export { asyncStorage, mmkvStorage } from './host-store.js';
export type { HostStorage, KeyValueStorage, MMKVStorage } from './host-store.js';
export type { AppStore, Durability, IntentSnapshot, StoredRow } from './types.js';

// react-native-page.d.ts

/**
 * `intento/react-native/page`: for the page that an `<IntentoWebView>` shows. Keeps its intents on the native side, tells it
 * of outcomes, and is woken by it.
 */
import { type DeviceState } from './bridge.js';
import type { AppStore, Outcome, Queue } from './types.js';
export { BridgeError } from './bridge.js';
export type { BridgeErrorCode, DeviceState, HostAnswer, HostOutcome } from './bridge.js';
/** The native side, as the page sees it. */
export interface Host {
    /** For `openQueue`: intents are kept on the native side. Undefined where the app gave its webview no storage. */
    readonly store: AppStore | undefined;
    /** What the app last said of the device. */
    readonly state: DeviceState;
    /**
     * A handler for `onOutcome`: hands the outcome to the app, and acknowledges it when the app has. Neither key nor payload
     * nor the body of the answer goes over.
     */
    readonly onOutcome: (outcome: Outcome) => Promise<void>;
    /** Tells the app of each change, and does what it asks of this queue: the newest one served. Ends with the function returned. */
    serve(queue: Queue): () => void;
}
/**
 * Finds the native side. Rejects with a {@link BridgeError} `host_missing`: the page is in no such webview, is not in its main
 * frame, or has another origin than the webview expects.
 */
export declare function connectHost({ within }?: {
    within?: number;
}): Promise<Host>;

// react-native.d.ts

/**
 * `intento/react-native`: the native side of a page that runs intento in a react-native-webview. Nothing here needs
 * WebAssembly: the engine runs in the page.
 */
import { type ReactElement, type Ref } from 'react';
import { WebView, type WebViewProps } from 'react-native-webview';
import { type HostOptions, type IntentoHost } from './host.js';
export { BridgeError } from './bridge.js';
export type { BridgeErrorCode, DeviceState, HostAnswer, HostOutcome, Refusal } from './bridge.js';
export { createHost } from './host.js';
export type { HostOptions, IntentoHost, WebViewMessage } from './host.js';
export { asyncStorage, mmkvStorage } from './host-store.js';
export type { HostStorage, KeyValueStorage, MMKVStorage } from './host-store.js';
export type { AppStore, Durability, IntentSnapshot, StoredRow } from './types.js';
/** What an app asks the page's queue. Rejections are `BridgeError`s: `page_gone` before the page has connected. */
export interface Intento extends Pick<IntentoHost, 'intents' | 'cancel' | 'resume' | 'reconcile'> {
    /** Has the page found its host? */
    readonly connected: boolean;
}
/** A handle for one `<IntentoWebView intento={…}>`, the same for the component's life; renders again when `connected` changes. */
export declare function useIntento(): Intento;
/** Those of `WebView`, and those of {@link HostOptions}. */
export interface IntentoWebViewProps extends WebViewProps, Omit<HostOptions, 'origin'> {
    /** An https page, or `html` with a `baseUrl`: a page without an origin could store nothing. */
    source: NonNullable<WebViewProps['source']>;
    /** The origin of the page, where `source` leads to another one. */
    origin?: string | undefined;
    /** From {@link useIntento}. */
    intento?: Intento | undefined;
    /** Of `@react-native-community/netinfo`, say: comes online, and the page looks at once. */
    isConnected?: boolean | null | undefined;
    /** React Native's `AppState.currentState`: in the background the page begins nothing. */
    appState?: string | null | undefined;
    /** Gets the `WebView`: `ref` is not a prop of its own before React 19. */
    webViewRef?: Ref<WebView> | undefined;
}
/**
 * A `WebView` whose page finds this app with `connectHost()` of `intento/react-native/page`. Takes the props of `WebView`.
 * When the page's process dies, the webview is made anew, at most three times a minute; its intents go on with their keys.
 *
 * Throws `origin_invalid` where `source` says no secure origin.
 */
export declare function IntentoWebView(props: IntentoWebViewProps): ReactElement;

// react-states.d.ts

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
export type IntentState = IntentIs<'opening' | 'absent', null, null, null> | IntentIs<'failed', null, null, unknown> | IntentIs<'unfinished' | 'held' | 'ended', Intent, IntentSnapshot, null>;
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

// react.d.ts

/**
 * React 18 and later. Nothing here opens a queue or reads a global: the app hands over how to open one, of whichever entry, so
 * that importing and rendering on a server do nothing.
 */
import { type ReactElement, type ReactNode } from 'react';
import type { IntentsState, IntentState, QueueState } from './react-states.js';
import type { Intent, IntentName, IntentSnapshot, Queue, Submission } from './types.js';
export type * from './react-states.js';
/** Where a provider has its queue from. */
export type IntentoProviderProps = {
    /** What may use the hooks. */
    children?: ReactNode;
} & ({
    /**
     * Opens the queue, when the provider is mounted in a browser: `() => openQueue({ ... })`. The provider closes what it opened
     * when it is unmounted; `openQueue` counts, so that StrictMode's second mount gets the same queue. Only the function of the
     * first render is called: give the provider a `key` for what makes it another queue, `key={user.id}`.
     */
    open: () => Queue | Promise<Queue>;
    /** Either of the two. */
    queue?: never;
} | {
    /** A queue of the app's own, which closes it itself. That of the first render counts, as above. */
    queue: Queue | Promise<Queue>;
    /** Either of the two. */
    open?: never;
});
/** Has a queue for the hooks below it. It counts as a listener of the queue's `change`. */
export declare function IntentoProvider({ open, queue, children }: IntentoProviderProps): ReactElement;
/** The queue, once it is open, or why it could not be opened. On the server it is `opening`. */
export declare function useQueue(): QueueState;
/**
 * What is known of the intent of that operation and reference, this tab's or another's: it is rendered again with every
 * change. After a `replace` it is the successor.
 */
export declare function useIntent({ operation, reference }: IntentName): IntentState;
/** The intents of the scope, oldest first, at most 1 000 that were there and those made since. */
export declare function useIntents(filter?: {
    state?: IntentSnapshot['state'];
}): IntentsState;
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
export declare function useSubmit(): Submitting;

// scripted-server.d.ts

/** An answer. What had an effect, or is `stored`, is kept under the request's key and given again. */
export interface AnswerReply {
    /** Default 201. */
    status?: number;
    /** Beside the key, which an answer repeats that is kept. */
    headers?: Readonly<Record<string, string>>;
    /** Sent as JSON. Default, where the status is 2xx: the number of the effect. */
    body?: unknown;
    /** Whether something is changed. Default: where the status is 2xx. */
    effect?: boolean;
    /** An answer without an effect that is kept all the same: a refusal for good. */
    stored?: boolean;
    /** Milliseconds between the effect and the answer. */
    delayMs?: number;
}
/** What is lost on the way: the request, which then has no effect, or the answer to it, which has come too late for that. */
export interface LostReply extends Omit<AnswerReply, 'effect' | 'stored'> {
    /** Which of the two. */
    lost: 'request' | 'answer';
}
/** What becomes of one request. */
export type Reply = AnswerReply | LostReply;
/** A request as the server saw it. */
export interface SeenRequest {
    /** In capitals. */
    method: string;
    /** Absolute. */
    url: string;
    /** Names in lower case. */
    headers: Readonly<Record<string, string>>;
    /** As text; empty where there is none. */
    body: string;
    /** The idempotency key; null where the request has none. */
    key: string | null;
}
/** A server in this very process: see {@link scriptedServer}. */
export interface ScriptedServer {
    /** In the place of the platform's `fetch`. */
    readonly fetch: typeof globalThis.fetch;
    /** Adds to the end of the script: what becomes of the next requests that are no repetition. After its end: 201, with an effect. */
    next(...replies: readonly Reply[]): void;
    /** How many times something was changed: what a test compares with 1. */
    readonly effects: number;
    /** Everything that arrived and carries a key or changes something, oldest first; probes are not among them. */
    readonly requests: readonly SeenRequest[];
    /** Makes it the page's `fetch`. What is returned puts the old one back. */
    install(): () => void;
}
/**
 * A server in this very process, as far as a queue can tell: it follows a script, keeps the answers of what it has done under
 * the request's key and gives them again, marked `Idempotent-Replayed: true`; refuses the same key with another request
 * (422); answers 409 with `Retry-After` while the first request with a key is under way. `keyHeader` is where keys travel.
 */
export declare function scriptedServer({ script, keyHeader }?: {
    script?: readonly Reply[];
    keyHeader?: string;
}): ScriptedServer;

// service-worker.d.ts

/**
 * Draining from a service worker, when the browser wakes it (Background Sync). Pages register the wake-up with
 * `openQueue({ backgroundSync: true })`. Where there is no Background Sync (Firefox, Safari, webviews) nothing here runs,
 * and pages drain as they always do.
 */
import type { Queue } from './types.js';
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
/**
 * Lets Background Sync drain the queue in this service worker. Call it once, while the worker's script is first run: the browser
 * takes no listeners later. What is due is sent under the same claims as in a tab, for at most a minute; a wake-up that leaves
 * something that will be due before the browser's next one rejects, so that there is one.
 */
export declare function drainOnSync({ open }: DrainOptions): void;

// slim.d.ts

import type { Queue, QueueOptions } from './types.js';
import { type WasmSource } from './wasm-source.js';
export { IntentoError } from './errors.js';
export type { Blame, ErrorCode } from './errors.js';
export type * from './types.js';
export type { WasmSource } from './wasm-source.js';
/** {@link QueueOptions}, and the module that the default entry carries inside. */
export interface SlimOptions extends QueueOptions {
    /** `intento/core.wasm` of the same version, or where it is served. Used at most once while an engine runs. */
    wasm: WasmSource;
}
/**
 * `openQueue` of the default entry, without the WebAssembly module: the app serves `intento/core.wasm` and says where.
 * Queues and the engine are shared with the default entry, if both are loaded.
 *
 * Rejects with an {@link IntentoError}: `wasm_unavailable` where the module cannot be had, with what was wrong in `remedy`.
 */
export declare function openQueue(options: SlimOptions): Promise<Queue>;

// testing.d.ts

/** For an app's own tests: a queue in memory, and a server that answers as it is told. Runs in browsers and in Node. */
import type { Queue, QueueOptions } from './types.js';
export { scriptedServer } from './scripted-server.js';
export type { AnswerReply, LostReply, Reply, ScriptedServer, SeenRequest } from './scripted-server.js';
/**
 * The `openQueue` that ships, over a store in memory: for tests in Node, vitest or jsdom, where no IndexedDB is. Each call
 * for a scope that is not open begins empty. Close it at the end of the test, `t.after(() => queue.close())`: an open queue goes on sending, and
 * keeps Node running.
 *
 * Rejects as `openQueue` does.
 */
export declare function memoryQueue(options: Omit<QueueOptions, 'store' | 'minDurability'>): Promise<Queue>;

// types.d.ts

/** What an app hands over and gets back. Plain objects only; times are epoch milliseconds. */
import type { Contract } from './contract.js';
import type { ErrorCode } from './errors.js';
export type { Carrier, Contract, KeyRules, Lookup, OwnContract, PointerIs, Rule, Verdict, When } from './contract.js';
/** A value JSON can carry exactly. Integers beyond 2^53 - 1 are refused: send them as strings. */
export type Json = null | boolean | number | string | readonly Json[] | {
    readonly [member: string]: Json;
};
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
{
    kind: 'applied';
    response?: {
        status: number;
        body?: Json;
    };
}
/** Nothing happened, and the server can never run it any more: a seal. */
 | {
    kind: 'not_applied';
    sealed: true;
}
/** Nothing is there now. A late packet could still run, so that this settles nothing. */
 | {
    kind: 'not_found';
} | {
    kind: 'unknown';
};
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
    authorize?: (asked: {
        refresh: boolean;
    }) => Authorization | Promise<Authorization>;
    /**
     * Asked, without anything being sent again, what became of an intent whose outcome is unknown: when nothing else can
     * help it, and by `intent.reconcile()`. `key` is the idempotency key: for looking it up, not for logs. Takes the place
     * of the contract's own lookup. At most 30 s; a rejection is `unknown`.
     */
    reconcile?: (asked: {
        intent: IntentSnapshot;
        key: string;
    }) => Finding | Promise<Finding>;
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
    decode?: (answer: {
        status: number;
        mediaType: string | null;
        body: string;
    }) => Json | undefined | Promise<Json | undefined>;
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
export type Cause = 'not_sent' | 'in_flight' | 'interrupted' | 'resumed' | 'processing' | 'network' | 'timeout' | 'not_the_server' | 'truncated' | 'server_error' | 'in_progress' | 'rate_limited' | 'unclear';
/** Why a held intent needs the app or a person. */
export type HeldReason = 'auth' | 'config' | 'redirected' | 'window_closed' | 'clock_changed' | 'unresolved' | 'conflicting_answers' | 'key_burnt' | 'accepted' | 'undecodable' | 'moved';
/** What came back of one attempt. `open`: nothing yet; `not_sent`: it never left; `network`, `timeout`, `truncated`, `redirected`, `forbidden`, `undecodable`, `not_the_server`: nothing usable came back, and it is not known whether it arrived; the others are readings of an answer by the contract. */
export type AttemptResult = 'open' | 'not_sent' | 'succeeded' | 'already_done' | 'rejected' | 'mismatched' | 'accepted' | 'in_progress' | 'rate_limited' | 'auth' | 'config' | 'server_error' | 'uncertain' | 'key_burnt' | 'window_closed' | 'unclear' | 'not_the_server' | 'other_key' | 'network' | 'timeout' | 'truncated' | 'redirected' | 'forbidden' | 'undecodable';
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
    state: 'queued' | 'sending' | 'waiting' | 'accepted' | 'held' | 'succeeded' | 'rejected' | 'mismatched' | 'not_applied' | 'cancelled' | 'expired' | 'abandoned';
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
export type Outcome = Exclude<Settled, {
    kind: 'pending' | 'held';
}>;
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
    settled(options?: {
        within?: number;
        signal?: AbortSignal;
    }): Promise<Settled>;
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
    reconcile(options?: {
        within?: number;
        signal?: AbortSignal;
    }): Promise<Settled>;
    /** Gives up while the outcome is unknown. Licenses no successor; evidence that arrives later still counts. */
    abandon(options: {
        reason: string;
    }): Promise<void>;
    /**
     * The next decision in this one's place, linked to it, under the same operation and reference, with a key of its
     * own; in its place in its lane, too, but behind what may have been sent meanwhile. Only while `safeToReplace` (else `not_replaceable`), and once: a second one with the same request is the
     * same successor, with another request a `reference_conflict` that carries it.
     */
    replace(request: IntentRequest, options: {
        reason: string;
        expiresIn?: number | null;
    }): Promise<Intent>;
}
/** What `queue.on` tells, by event. */
export interface QueueEvents {
    /** An intent's record changed, and the change is durable. */
    change: IntentSnapshot;
    /** Told to whoever listens, also after the queue has opened: see {@link Queue.storageLost}. */
    storage_lost: StorageLost;
    /** Told, once, to whoever listens where intents are stored in less than `strong`: see {@link Queue.durability}. */
    degraded: {
        durability: Durability;
    };
}
/**
 * The browser has evicted what was stored here, or it cannot be read and the app went on without it (`onUnreadable`). What of it was unfinished, as far as is remembered beside it, at most 200
 * intents: ask your server what became of these before anybody pays again. Of what was finished nothing is known any more.
 */
export interface StorageLost {
    /** What was not finished, by operation and reference. */
    unfinished: {
        operation: string;
        reference: string;
    }[];
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
export interface DiagnosedIntent extends Pick<IntentSnapshot, 'id' | 'operation' | 'keyHash' | 'state' | 'cause' | 'heldReason' | 'maybeSent' | 'safeToReplace' | 'createdAt' | 'nextAttemptAt' | 'attemptCount' | 'attempts'> {
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
    counts: {
        [S in IntentSnapshot['state']]?: number;
    };
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
export type DoctorCode = 'tier' | 'persistence' | 'quota' | 'locks' | 'broadcast' | 'service_worker' | 'reachable' | 'probe' | 'key_header' | 'exposed_headers' | 'clock' | 'retention' | 'cookies' | 'held';
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
    intents(filter?: {
        state?: IntentSnapshot['state'];
    }): Promise<IntentSnapshot[]>;
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
    adopt(fromScope: string): Promise<{
        moved: IntentSnapshot[];
        left: IntentSnapshot[];
    }>;
    /**
     * Waits until nothing is under way, here or in another tab, nothing is due, and nothing will be due in the time that is left; at most `within`
     * ms (default 30 000). Says what there is to do then. What is held waits for the app, and is none of it.
     */
    drained(options?: {
        within?: number;
    }): Promise<Drained>;
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
    move(options: {
        secret: ParcelSecret;
    }): Promise<Moved>;
    /**
     * Takes over what `move` has packed at another origin, for the same scope, and goes on with it, with the same keys. What is
     * here already is done. Rejects with `parcel_invalid` where the parcel was changed or the secret is another, with
     * `parcel_foreign` for another scope's, and with `reference_conflict` where another intent has the reference here. If the
     * device's clock was set back by more than a minute meanwhile, what may have been sent is not sent again but asked about.
     */
    receive(parcel: string, options: {
        secret: ParcelSecret;
    }): Promise<IntentSnapshot[]>;
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
    diagnostics(options?: {
        references?: boolean;
    }): Promise<Diagnostics>;
    /**
     * Looks at what is easily set up wrong, here and at the server: see docs/doctor.md. For development and for support; it sends
     * GET and HEAD to `probeUrl`, or to the root of `baseUrl`'s origin, and nothing else. Takes up to 30 s where nothing answers.
     */
    doctor(): Promise<DoctorFinding[]>;
    /** Lets go; the queue closes with its last holder. What is stored stays, and goes on when it is opened again. Idempotent. */
    close(): void;
}

// wasm-source.d.ts

/** The module, or where it is: an address, relative to the page; an answer of `fetch`; its bytes; or compiled already. */
export type WasmSource = URL | string | Response | Promise<Response> | BufferSource | WebAssembly.Module;
/**
 * The module of the option `wasm`, compiled. Rejects with `wasm_unavailable` where it cannot be had, or is another file
 * (hazard W7), with `option_invalid` where there is none.
 */
export declare function compiled(options: {
    wasm: WasmSource;
}): Promise<WebAssembly.Module>;

// webview.d.ts

/**
 * The script of `intento/iife` as text, safe inside `<script>` and as `injectedJavaScriptBeforeContentLoaded`. It makes the
 * global `intento`.
 */
export declare const source: string;
