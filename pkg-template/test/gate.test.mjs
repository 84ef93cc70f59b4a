import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const folder = dirname(createRequire(import.meta.url).resolve('intento/package.json'));
const { Gate } = await import(pathToFileURL(join(folder, 'gate.js')).href);

/** `(module (import "e" "f" (func)) (func (export "twice") call 0 call 0) (func (export "trap") unreachable))` */
const MODULE = new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, //
  1, 4, 1, 0x60, 0, 0, //
  2, 7, 1, 1, 0x65, 1, 0x66, 0, 0, //
  3, 3, 2, 0, 0, //
  7, 16, 2, 5, 0x74, 0x77, 0x69, 0x63, 0x65, 0, 1, 4, 0x74, 0x72, 0x61, 0x70, 0, 2, //
  10, 12, 2, 6, 0, 0x10, 0, 0x10, 0, 0x0b, 3, 0, 0, 0x0b,
]);

/** An instance behind a gate, whose import is `f`. */
async function instanceWith(f) {
  const gate = new Gate();
  const { instance } = await WebAssembly.instantiate(MODULE, gate.imports({ e: { f } }));
  return { gate, exports: gate.exports(instance.exports) };
}

test('a trap kills the instance, and what is called afterwards comes to nothing', async () => {
  const { gate, exports } = await instanceWith(() => assert.fail('called by a dead instance'));
  let told = 0;
  gate.onDeath(() => (told += 1));
  assert.equal(gate.dead, false);
  assert.deepEqual(exports.trap(), []);
  assert.equal(gate.dead, true);
  assert.deepEqual(exports.twice(), []);
  assert.deepEqual(exports.trap(), []);
  assert.equal(told, 1);
});

test('an import that throws kills the instance it throws through', async () => {
  const { gate, exports } = await instanceWith(() => {
    throw new Error('no clock');
  });
  exports.twice();
  assert.equal(gate.dead, true);
});

test('an instance that dies in a call of the app goes no further in the call around it', async () => {
  let calls = 0;
  const { exports } = await instanceWith(() => {
    calls += 1;
    try {
      exports.trap();
    } catch {
      // As an app's listener may do.
    }
  });
  exports.twice();
  assert.equal(calls, 1);
});

test('a call that the death comes before rejects, whether it was under way or made afterwards', async () => {
  const { gate, exports } = await instanceWith(() => {});
  const gone = { name: 'EngineGone' };
  const underWay = assert.rejects(gate.outlive(() => new Promise(() => {})), gone);
  const deadly = assert.rejects(gate.outlive(() => exports.trap()), gone);
  await Promise.all([underWay, deadly]);
  await assert.rejects(gate.outlive(async () => 1), gone);
});

test('a dead instance has its requests aborted, and then its locks released', async (t) => {
  const order = [];
  const released = Promise.withResolvers?.() ?? deferred();
  const locks = {
    async request(name, options, granted) {
      await granted({ name });
      order.push('lock');
      released.resolve();
    },
  };
  const real = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { locks } });
  t.after(() => (real ? Object.defineProperty(globalThis, 'navigator', real) : delete globalThis.navigator));
  const { gate, exports } = await instanceWith(() => {});
  const [done, open] = [new gate.platform.AbortController(), new gate.platform.AbortController()];
  done.abort();
  done.signal.onabort = () => assert.fail('aborted twice');
  open.signal.onabort = () => order.push('request');
  gate.platform.navigator.locks.request('intento/1', {}, () => new Promise(() => {}));
  exports.trap();
  await released.promise;
  assert.deepEqual(order, ['request', 'lock']);
});

function deferred() {
  let resolve;
  const promise = new Promise((settle) => (resolve = settle));
  return { promise, resolve };
}
