import { deathsSoFar } from './engine.js';
import { asIntentoError } from './errors.js';
import type { Line } from './line.js';
import type { PlainOptions } from './plain.js';
import type { DiagnosedIntent, Diagnostics, Durability, IntentSnapshot, OriginStorage } from './types.js';

/** Intents that are told one by one, the oldest first. */
const UNFINISHED_MAX = 100;
/** Hex digits of a hash: as many as of a key's. */
const HASH_DIGITS = 12;

/** States that an intent leaves again. */
export const UNFINISHED: ReadonlySet<IntentSnapshot['state']> = new Set(['queued', 'sending', 'waiting', 'accepted', 'held']);

/** What a queue is, besides what it was opened with. */
export interface About extends PlainOptions {
  version: string;
  scopeHash: string;
}

/** Tells also what is known where the engine cannot be asked. */
export async function diagnose(line: Line, about: About, durability: Durability, references: boolean): Promise<Diagnostics> {
  const { intents, error } = await listed(line);
  const unfinished = intents.filter(({ state }) => UNFINISHED.has(state)).sort((one, other) => one.createdAt - other.createdAt);
  const counts: Diagnostics['counts'] = {};
  for (const { state } of intents) counts[state] = (counts[state] ?? 0) + 1;
  return {
    version: about.version,
    at: Date.now(),
    scopeHash: about.scopeHash.slice(0, HASH_DIGITS),
    durability,
    error,
    counts,
    unfinished: await Promise.all(unfinished.slice(0, UNFINISHED_MAX).map((intent) => diagnosed(intent, about.scopeHash, references))),
    leftOut: Math.max(0, unfinished.length - UNFINISHED_MAX),
    locks: hasLocks(),
    broadcast: hasBroadcast(),
    storage: await storage(),
    engineDeaths: deathsSoFar(),
  };
}

export function hasLocks(): boolean {
  return globalThis.navigator?.locks !== undefined;
}

export function hasBroadcast(): boolean {
  return globalThis.BroadcastChannel !== undefined;
}

/** What the browser says of this origin's storage; null where it does not. */
export async function storage(): Promise<OriginStorage | null> {
  try {
    const [{ usage = null, quota = null }, persisted] = await Promise.all([navigator.storage.estimate(), navigator.storage.persisted()]);
    return { usage, quota, persisted };
  } catch {
    return null;
  }
}

async function listed(line: Line): Promise<{ intents: IntentSnapshot[]; error: Diagnostics['error'] }> {
  try {
    return { intents: (await line.ask((raw) => raw.intents())) as IntentSnapshot[], error: null };
  } catch (error) {
    return { intents: [], error: asIntentoError(error).code };
  }
}

async function diagnosed(intent: IntentSnapshot, scopeHash: string, references: boolean): Promise<DiagnosedIntent> {
  const { id, operation, reference, keyHash, state, cause, heldReason, maybeSent, safeToReplace, createdAt, nextAttemptAt, attemptCount, attempts } = intent;
  return {
    id,
    operation,
    reference: references ? reference : null,
    referenceHash: reference === null ? null : await hash(`${scopeHash}/${reference}`),
    keyHash,
    state,
    cause,
    heldReason,
    maybeSent,
    safeToReplace,
    createdAt,
    nextAttemptAt,
    attemptCount,
    attempts,
  };
}

/** Null outside secure contexts, which have no `crypto.subtle`. */
async function hash(text: string): Promise<string | null> {
  const digest = await globalThis.crypto?.subtle?.digest('SHA-256', new TextEncoder().encode(text));
  if (digest === undefined) return null;
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('').slice(0, HASH_DIGITS);
}
