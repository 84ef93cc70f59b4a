import { instance, type openRawQueue } from './core.js';
import { engineDead, IntentoError, platformError } from './errors.js';
import { Gate } from './gate.js';

/** How often a dead engine is replaced within {@link REOPENINGS_WITHIN_MS}; then a call says `engine_dead`. */
const REOPENINGS_MAX = 3;
const REOPENINGS_WITHIN_MS = 60_000;

/** One running instance of the WebAssembly module, and whether it still runs. */
export interface Engine {
  openRawQueue: typeof openRawQueue;
  gate: Gate;
}

/** Where the module comes from; called when an engine starts and none was compiled before. */
export type Wasm = () => Promise<WebAssembly.Module>;

let loading: Promise<Engine> | undefined;
let compiled: WebAssembly.Module | undefined;
/** When engines died, on the page's monotonic clock. */
let deaths: number[] = [];
let deathCount = 0;

/** How many engines of this page have died. */
export function deathsSoFar(): number {
  return deathCount;
}

/**
 * Starts the engine; later calls get the same one until it dies. A failed start is not remembered, so a later call tries
 * again. Nothing is decoded or compiled before the first call.
 *
 * Rejects with `wasm_unavailable` where WebAssembly is missing (iOS Lockdown Mode), refused (a Content-Security-Policy without
 * `'wasm-unsafe-eval'`) or gets no memory, and with `engine_dead` if too many engines have died lately.
 */
export function loadEngine(wasm: Wasm): Promise<Engine> {
  deaths = deaths.filter((at) => performance.now() - at < REOPENINGS_WITHIN_MS);
  if (deaths.length > REOPENINGS_MAX) return Promise.reject(engineDead(undefined));
  loading ??= start(wasm).catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function start(wasm: Wasm): Promise<Engine> {
  if (typeof WebAssembly !== 'object') {
    const remedy = 'This browser has no WebAssembly (iOS Lockdown Mode turns it off): show the customer another way to pay.';
    throw platformError('wasm_unavailable', remedy);
  }
  const gate = new Gate();
  const { imports, finish, openRawQueue } = instance(gate.platform);
  try {
    compiled ??= await wasm();
    const { exports } = await WebAssembly.instantiate(compiled, gate.imports(imports()));
    finish({ exports: gate.exports(exports) });
  } catch (cause) {
    if (cause instanceof IntentoError) throw cause;
    // It was compiled, and lacks what the glue names.
    const isOther = compiled !== undefined && (cause instanceof WebAssembly.LinkError || cause instanceof TypeError);
    if (isOther) compiled = undefined;
    const remedy = isOther ? OTHER_VERSION : cause instanceof RangeError ? NO_MEMORY : REFUSED;
    throw platformError('wasm_unavailable', remedy, cause);
  }
  gate.onDeath(() => {
    loading = undefined;
    deathCount += 1;
    deaths.push(performance.now());
  });
  return { openRawQueue, gate };
}

const OTHER_VERSION = 'The WebAssembly module is not of this version of intento: serve core.wasm of the package that is imported.';
const NO_MEMORY = 'WebAssembly got no memory: close other tabs or reload the page; nothing that was submitted is lost.';
// Engines disagree on the error that a Content-Security-Policy causes (CompileError, EvalError).
const REFUSED = "WebAssembly could not start: if the page has a Content-Security-Policy, add 'wasm-unsafe-eval' to script-src.";
