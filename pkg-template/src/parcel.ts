import { own } from './plain.js';
import { appError } from './errors.js';
import type { ParcelSecret } from './types.js';

/** What every parcel begins with; authenticated with it. */
const HEAD = 'intento-parcel-1.';
const IV_BYTES = 12;
const SECRET_BYTES = 32;

/** Encrypts and authenticates (AES-GCM, WebCrypto) the parts of a parcel: one string that is safe in a URL or a file. */
export async function seal(parts: readonly string[], options: unknown): Promise<string> {
  const key = await keyOf(options);
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const sealed = await crypto.subtle.encrypt(algorithm(iv), key, new TextEncoder().encode(JSON.stringify(parts)));
  return HEAD + base64(iv) + base64(new Uint8Array(sealed));
}

/** Rejects with `parcel_invalid` where it was sealed with another secret, or is not as it was sealed. */
export async function unseal(parcel: string, options: unknown): Promise<string[]> {
  const key = await keyOf(options);
  try {
    if (!parcel.startsWith(HEAD)) throw new TypeError('no parcel');
    const sealed = bytes(parcel.slice(HEAD.length));
    const opened = await crypto.subtle.decrypt(algorithm(sealed.subarray(0, IV_BYTES)), key, sealed.subarray(IV_BYTES));
    return JSON.parse(new TextDecoder().decode(opened)) as string[];
  } catch (cause) {
    throw appError('parcel_invalid', 'Pass the parcel as move() gave it, and the secret that it was sealed with; move again if it is lost.', null, cause);
  }
}

async function keyOf(options: unknown): Promise<CryptoKey> {
  const secret = own(options as { secret?: ParcelSecret } | undefined, 'secret');
  try {
    if (secret instanceof CryptoKey) return secret;
    if (!(secret instanceof Uint8Array) || secret.length !== SECRET_BYTES) throw new TypeError('32 bytes, or a CryptoKey');
    return await crypto.subtle.importKey('raw', new Uint8Array(secret), 'AES-GCM', false, ['encrypt', 'decrypt']);
  } catch (cause) {
    throw appError('option_invalid', 'Pass secret: 32 bytes, or a CryptoKey for AES-GCM, on a page of https or localhost.', 'secret', cause);
  }
}

function algorithm(iv: Uint8Array<ArrayBuffer>): AesGcmParams {
  return { name: 'AES-GCM', iv, additionalData: new TextEncoder().encode(HEAD) };
}

/** RFC 4648, section 5, without padding: its parts can stand one behind the other where each is a multiple of three bytes. */
function base64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
}
