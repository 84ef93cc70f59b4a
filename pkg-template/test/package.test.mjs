import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);

/** All but the classic script, whose import makes its global, and what needs React. */
const { exports } = require('intento/package.json');
const ENTRIES = Object.keys(exports).filter((name) => !/\.\w+$|iife|react/.test(name)).map((name) => name.replace('.', 'intento'));

test('importing has no side effects', async () => {
  const before = Object.getOwnPropertyNames(globalThis);
  const compile = WebAssembly.instantiate;
  WebAssembly.instantiate = () => assert.fail('compiled on import');
  try {
    for (const entry of ENTRIES) await import(entry);
  } finally {
    WebAssembly.instantiate = compile;
  }
  assert.deepEqual(Object.getOwnPropertyNames(globalThis), before);
});

test('importing throws nowhere, whatever is missing or refuses to be read', async (t) => {
  const gone = ['WebAssembly', 'crypto', 'navigator', 'AbortController', 'fetch', 'URLSearchParams', 'reportError', 'performance'];
  for (const name of [...gone, 'indexedDB', 'localStorage']) {
    const real = Object.getOwnPropertyDescriptor(globalThis, name);
    t.after(() => (real ? Object.defineProperty(globalThis, name, real) : delete globalThis[name]));
    const get = () => assert.fail(`${name} was read on import`);
    Object.defineProperty(globalThis, name, { configurable: true, get });
  }
  for (const file of ['index.js', 'slim.js', 'contracts.js', 'testing.js', 'webview.js', 'iife.js']) await freshCopy(file);
  delete globalThis.intento;
});

test('require() takes it, so there is no top-level await', () => {
  for (const entry of ENTRIES) assert.equal(typeof require(entry), 'object', entry);
});

test('the engine starts once', async (t) => {
  const { loadEngine } = await freshEngine();
  const compile = t.mock.method(WebAssembly, 'compile');
  const [one, two] = await Promise.all([loadEngine(), loadEngine()]);
  assert.equal(one, two);
  assert.equal(await loadEngine(), one);
  // Node compiles parts of itself, small ones.
  const ours = compile.mock.calls.filter((call) => call.arguments[0].byteLength > 100_000);
  assert.equal(ours.length, 1);
});

test('without WebAssembly the engine says so, and starts once it is there', async () => {
  const { loadEngine } = await freshEngine();
  const platform = globalThis.WebAssembly;
  delete globalThis.WebAssembly;
  try {
    await assert.rejects(loadEngine(), { code: 'wasm_unavailable' });
  } finally {
    globalThis.WebAssembly = platform;
  }
  await loadEngine();
});

test('a refused compilation is wasm_unavailable with the cause, and not remembered', async (t) => {
  const { loadEngine } = await freshEngine();
  const refusal = new WebAssembly.CompileError('refused by Content-Security-Policy');
  const instantiate = t.mock.method(WebAssembly, 'instantiate', () => Promise.reject(refusal));
  await assert.rejects(loadEngine(), { code: 'wasm_unavailable', cause: refusal });
  instantiate.mock.restore();
  await loadEngine();
});

test('contracts are frozen, all the way down', async () => {
  const { defineContract: _, ...contracts } = await import('intento/contracts');
  assert.ok(Object.keys(contracts).includes('generic'));
  for (const contract of Object.values(contracts)) {
    assert.equal(typeof contract.id, 'string');
    assertFrozen(contract);
  }
});

test('the WebAssembly module is there for those who serve it themselves', async () => {
  assert.ok(WebAssembly.validate(await readFile(require.resolve('intento/core.wasm'))));
});

test('the module that the default entry carries as text is that one, byte for byte', async () => {
  const { wasmBytes } = await installed('wasm-inline.js');
  assert.ok(Buffer.from(wasmBytes()).equals(await readFile(require.resolve('intento/core.wasm'))));
});

async function freshEngine() {
  const { loadEngine } = await freshCopy('engine.js');
  const { wasmBytes } = await installed('wasm-inline.js');
  return { loadEngine: () => loadEngine(() => WebAssembly.compile(wasmBytes())) };
}

function installed(name) {
  return import(pathToFileURL(join(dirname(require.resolve('intento')), name)).href);
}

/** A file in a copy of the package, which remembers nothing. */
async function freshCopy(name) {
  const folder = dirname(require.resolve('intento/package.json'));
  const copy = await mkdtemp(join(folder, '..', 'intento-copy-'));
  await cp(folder, copy, { recursive: true });
  return import(pathToFileURL(join(copy, name)).href);
}

function assertFrozen(value) {
  if (typeof value !== 'object' || value === null) return;
  assert.ok(Object.isFrozen(value));
  Object.values(value).forEach(assertFrozen);
}
