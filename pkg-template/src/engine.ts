import init, { openRawQueue } from './core.js';
import { wasmBytes } from './wasm-inline.js';

/** What the face calls of the WebAssembly module. */
export interface Engine {
  openRawQueue: typeof openRawQueue;
}

/** The engine cannot run here; `cause` holds what the platform said. */
export class EngineUnavailable extends Error {
  override readonly name = 'EngineUnavailable';
  readonly code = 'wasm_unavailable';
}

let loading: Promise<Engine> | undefined;

/**
 * Starts the engine, once per page; later calls get the same one. A failed start is not remembered, so
 * a later call tries again. Nothing is decoded or compiled before the first call.
 *
 * Rejects with `EngineUnavailable` where WebAssembly is missing (iOS Lockdown Mode) or refused (a
 * Content-Security-Policy without `'wasm-unsafe-eval'`).
 */
export function loadEngine(): Promise<Engine> {
  loading ??= start().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function start(): Promise<Engine> {
  if (typeof WebAssembly !== 'object') {
    throw new EngineUnavailable('This browser has no WebAssembly (iOS Lockdown Mode turns it off): show the customer another way to pay.');
  }
  try {
    await init({ module_or_path: wasmBytes() });
  } catch (cause) {
    // Engines disagree on the error a Content-Security-Policy causes (CompileError, EvalError),
    // and whatever the reason, the remedy and the state of the ledger are the same.
    throw new EngineUnavailable(
      "WebAssembly could not start: if the page has a Content-Security-Policy, add 'wasm-unsafe-eval' to script-src.",
      { cause },
    );
  }
  return { openRawQueue };
}
