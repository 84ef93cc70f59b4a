import { open } from './open.js';
import type { Queue, QueueOptions } from './types.js';
import { compiled, type WasmSource } from './wasm-source.js';

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
export async function openQueue(options: SlimOptions): Promise<Queue> {
  return open(options, () => compiled(options));
}
