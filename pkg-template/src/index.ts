import { open } from './open.js';
import type { Queue, QueueOptions } from './types.js';
import { wasmBytes } from './wasm-inline.js';

export { IntentoError } from './errors.js';
export type { Blame, ErrorCode } from './errors.js';
export type * from './types.js';

/**
 * Opens the queue of one scope and starts to drain it. A second call with the same scope returns the same queue,
 * counted: it closes with the last `close()`. Nothing is loaded before the first call.
 *
 * Rejects with an {@link IntentoError}; nothing is stored or sent then.
 */
export async function openQueue(options: QueueOptions): Promise<Queue> {
  // Handed down, and not registered: a bundler that drops this function drops the module with it.
  return open(options, () => WebAssembly.compile(wasmBytes()));
}
