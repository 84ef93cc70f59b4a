import { appError, platformError } from './errors.js';
import { own } from './plain.js';

/** The module, or where it is: an address, relative to the page; an answer of `fetch`; its bytes; or compiled already. */
export type WasmSource = URL | string | Response | Promise<Response> | BufferSource | WebAssembly.Module;

/**
 * The module of the option `wasm`, compiled. Rejects with `wasm_unavailable` where it cannot be had, or is another file
 * (hazard W7), with `option_invalid` where there is none.
 */
export async function compiled(options: { wasm: WasmSource }): Promise<WebAssembly.Module> {
  const source = own(options, 'wasm');
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return ofBytes(source);
  if (typeof source === 'string' || source instanceof URL) return ofResponse(await fetched(() => fetch(source)));
  if (isResponse(source) || isPromise(source)) return ofResponse(await fetched(async () => source));
  throw appError('option_invalid', 'Pass where intento/core.wasm is served, or what it holds.', 'wasm');
}

async function fetched(fetching: () => Promise<Response>): Promise<Response> {
  try {
    return await fetching();
  } catch (cause) {
    throw unavailable('it could not be fetched (no network, a wrong address, CORS, or connect-src of the page)', cause);
  }
}

async function ofResponse(response: Response): Promise<WebAssembly.Module> {
  // A module that a host app serves from a file has status 0.
  if (!response.ok && response.status !== 0) throw unavailable(`its address answered ${response.status}`);
  if (response.bodyUsed) throw unavailable('its answer has been read already; pass one that has not, or the address');
  const mediaType = response.headers.get('Content-Type')?.split(';')[0]?.trim().toLowerCase();
  if (mediaType === 'application/wasm' && typeof WebAssembly.compileStreaming === 'function') {
    try {
      return await WebAssembly.compileStreaming(response);
    } catch (cause) {
      // Refused before it was read: an answer of a replaced `fetch`, say, which is none to the platform.
      if (response.bodyUsed) throw cause instanceof TypeError ? unavailable(BROKEN_OFF, cause) : cause;
    }
  }
  let bytes;
  try {
    bytes = await response.arrayBuffer();
  } catch (cause) {
    throw unavailable(BROKEN_OFF, cause);
  }
  return ofBytes(bytes, mediaType);
}

async function ofBytes(bytes: BufferSource, mediaType = 'bytes'): Promise<WebAssembly.Module> {
  const [buffer, at] = ArrayBuffer.isView(bytes) ? [bytes.buffer, bytes.byteOffset] : [bytes, 0];
  const start = new Uint8Array(buffer, at, Math.min(bytes.byteLength, MAGIC.length));
  if (MAGIC.some((byte, place) => start[place] !== byte)) throw unavailable(`what came for it (${mediaType}) is no WebAssembly`);
  return WebAssembly.compile(bytes);
}

const BROKEN_OFF = 'its answer broke off';

/** What every module begins with (WebAssembly Core, section 5.5.16). */
const MAGIC = [0x00, 0x61, 0x73, 0x6d];

/** Told by their shape: a replaced `fetch` has answers of its own. */
function isResponse(source: unknown): source is Response {
  return typeof source === 'object' && source !== null && 'arrayBuffer' in source;
}

function isPromise(source: unknown): source is Promise<Response> {
  return typeof source === 'object' && source !== null && 'then' in source;
}

function unavailable(what: string, cause?: unknown) {
  return platformError('wasm_unavailable', `Serve intento/core.wasm where the option \`wasm\` says: ${what}.`, cause);
}
