import type { IntentSnapshot } from './types.js';

/** Every way a call can fail. The engine has the same list; a test compares them. */
export type ErrorCode =
  | 'contract_missing' | 'contract_invalid' | 'scope_missing' | 'scope_too_long' | 'option_invalid' | 'options_conflict'
  | 'operation_invalid' | 'reference_missing' | 'reference_invalid' | 'reference_too_long' | 'reference_conflict' | 'lane_invalid'
  | 'method_not_allowed' | 'url_invalid' | 'url_cleartext' | 'url_foreign_origin' | 'header_forbidden' | 'header_invalid'
  | 'body_unstorable' | 'body_too_large' | 'card_data' | 'key_place_invalid' | 'expires_in_invalid' | 'not_replaceable' | 'not_resumable'
  | 'not_reconcilable' | 'reconcile_unavailable' | 'reason_invalid' | 'parcel_invalid' | 'parcel_foreign' | 'unknown_intent' | 'closed' | 'ledger_full' | 'lane_full'
  | 'wasm_unavailable' | 'entropy_unavailable' | 'storage_unavailable' | 'durability_too_low' | 'ledger_unreadable' | 'storage_failed'
  | 'commit_unknown' | 'engine_dead';

/** Who can mend it: the calling code, the browser or its policy, the device's storage, or intento. */
export type Blame = 'app' | 'platform' | 'storage' | 'intento';

/** The one error class. Branch on `code`; show `remedy` to a developer. Holds neither key nor payload. */
export class IntentoError extends Error {
  /** For telling it from other errors, also those of another copy of the package. */
  override readonly name = 'IntentoError';
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
  constructor(plain: PlainError, cause?: unknown) {
    const where = plain.detail === null ? '' : ` (${plain.detail})`;
    super(`${plain.code}${where}: ${plain.remedy}`, cause === undefined ? undefined : { cause });
    this.code = plain.code;
    this.blame = plain.blame;
    this.remedy = plain.remedy;
    this.detail = plain.detail;
    this.existing = plain.existing;
    this.conflicting = plain.conflicting ?? null;
  }
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
export function asIntentoError(error: unknown): IntentoError {
  if (error instanceof IntentoError) return error;
  return isPlainError(error) ? new IntentoError(error) : engineDead(error);
}

/** `cause` is what ended the engine. */
export function engineDead(cause: unknown): IntentoError {
  const remedy = 'Look with intents() what was stored before you submit anew, and reload the page if this comes again. Please report this.';
  return new IntentoError({ code: 'engine_dead', blame: 'intento', remedy, detail: null, existing: null }, cause);
}

/** An engine's death is nobody's rejection; whoever gathers the page's errors gets it. */
export function reportDeath(cause: unknown): void {
  globalThis.reportError?.(engineDead(cause));
}

/** The platform lacks or refuses what the engine needs; `cause` is what it said. */
export function platformError(code: ErrorCode, remedy: string, cause?: unknown): IntentoError {
  return new IntentoError({ code, blame: 'platform', remedy, detail: null, existing: null }, cause);
}

/** An error of this face, before the engine is asked. */
export function appError(code: ErrorCode, remedy: string, detail: string | null = null, cause?: unknown): IntentoError {
  return new IntentoError({ code, blame: 'app', remedy, detail, existing: null }, cause);
}

function isPlainError(error: unknown): error is PlainError {
  return typeof error === 'object' && error !== null && Object.hasOwn(error, 'code') && Object.hasOwn(error, 'remedy');
}
