import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const installed = dirname(createRequire(import.meta.url).resolve('intento/package.json'));
const { canonicalJson } = await import(pathToFileURL(join(installed, 'canonical-json.js')).href);

test('RFC 8785 section 3.2.2: the sample object', () => {
  const sample = {
    numbers: [333333333.33333329, 1e30 / 1e10, 4.5, 2e-3, 0.000000000000000000000000001],
    string: '€$\u000F\u000aA\'\u0042\u0022\u005c\\\"\/',
    literals: [null, true, false],
  };
  // 1e20 is refused (it is beyond 2^53 - 1); the RFC's other numbers stand.
  sample.numbers.splice(1, 1);
  assert.equal(
    canonicalJson(sample),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

test('RFC 8785 section 3.2.3: members sort by UTF-16 code units', () => {
  const unsorted = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    1: 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  };
  const order = Object.values(JSON.parse(canonicalJson(unsorted)));
  // JSON.parse moves integer-like names first, where "1" is anyway only behind "\r".
  assert.match(canonicalJson(unsorted), /^\{"\\r":.*"1":.*"\u0080":.*"\u00f6":.*"\u20ac":.*"\ud83d\ude00":.*"\ufb33":/);
  assert.equal(order.length, 7);
});

test('equal values have equal text, whatever order they were made in', () => {
  assert.equal(canonicalJson({ b: 1, a: [{ d: -0, c: '' }] }), canonicalJson({ a: [{ c: '', d: 0 }], b: 1 }));
  assert.equal(canonicalJson(Object.assign(Object.create(null), { a: 1 })), '{"a":1}');
});

for (const [what, value, at] of [
  ['NaN', { a: [1, NaN] }, '/a/1'],
  ['infinity', [-Infinity], '/0'],
  ['an integer beyond 2^53 - 1', { amount: 2 ** 53 }, '/amount'],
  ['a bigint', { amount: 1n }, '/amount'],
  ['undefined as a member', { a: undefined }, '/a'],
  // biome-ignore lint: the hole is the point
  ['a hole', [1, , 2], '/1'],
  ['a function', { 'a/b~c': () => {} }, '/a~1b~0c'],
  ['a symbol', Symbol('s'), 'the top'],
  ['a Map', { m: new Map() }, '/m'],
  ['a Date', { at: new Date(0) }, '/at'],
  ['a class instance', new (class Order {})(), 'the top'],
  ['an object with toJSON', { toJSON: () => 1 }, 'the top'],
  ['a lone high surrogate', 'a\ud800', 'the top'],
  ['a lone low surrogate', '\udc00b', 'the top'],
  ['a name with a lone surrogate', { '\ud800': 1 }, 'the top'],
]) {
  test(`refuses ${what}`, () => {
    assert.throws(() => canonicalJson(value, { exact: true }), (error) => {
      assert.equal(error.code, 'body_unstorable');
      assert.ok(error.detail.endsWith(`at ${at}`), error.detail);
      return true;
    });
  });
}

test('leaves out what it is told to, and nothing else', () => {
  const value = { a: 1, b: { a: 2, 'x/y': 3 }, list: [{ a: 4 }] };
  const leftOut = (...pointers) => canonicalJson(value, { leftOut: new Set(pointers) });
  assert.equal(leftOut('/a'), '{"b":{"a":2,"x/y":3},"list":[{"a":4}]}');
  assert.equal(leftOut('/b/x~1y', '/list/0/a'), '{"a":1,"b":{"a":2},"list":[{}]}');
  assert.equal(leftOut('/nothing'), canonicalJson(value));
});

test('every finite double has a text; only a body must be exact', () => {
  assert.equal(canonicalJson([2 ** 53, 1e300, -5e-324]), '[9007199254740992,1e+300,-5e-324]');
  assert.throws(() => canonicalJson(2 ** 53, { exact: true }), { code: 'body_unstorable' });
});

test('keeps a place for the key where the contract wants it, and nowhere else', () => {
  const at = (keyAt, value) => canonicalJson(value, { keyAt });
  assert.equal(at('/idempotency_key', { z: 1, a: 2 }), String.raw`{"a":2,"idempotency_key":"\ud800","z":1}`);
  assert.equal(at('/input/a~1b', { input: {} }), String.raw`{"input":{"a/b":"\ud800"}}`);
  // What looks like the place is escaped when it is the app's own text.
  const lookalike = String.raw`"\ud800"`;
  assert.equal(at('/k', { a: lookalike }).split(lookalike).length, 2);
  for (const [keyAt, value] of [['/k', { k: 1 }], ['/a/k', {}], ['/a/k', { a: 1 }], ['/k', [1]], ['/k', 'text']]) {
    assert.throws(() => at(keyAt, value), { code: 'key_place_invalid', detail: keyAt });
  }
});

test('refuses a cycle and bottomless nesting, and takes one object twice', () => {
  const cycle = {};
  cycle.self = cycle;
  assert.throws(() => canonicalJson(cycle), { code: 'body_unstorable' });
  let deep = 0;
  for (let level = 0; level < 65; level += 1) deep = [deep];
  assert.throws(() => canonicalJson(deep), { code: 'body_unstorable' });
  const shared = { a: 1 };
  assert.equal(canonicalJson([shared, shared]), '[{"a":1},{"a":1}]');
});

test('is what JSON.stringify says, sorted, on random values', () => {
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const value = (depth) => {
    const kind = Math.floor(random() * (depth > 3 ? 4 : 6));
    if (kind === 0) return Math.floor(random() * 2 ** 40) * (random() < 0.5 ? -1 : 1);
    if (kind === 1) return random() * 10 ** Math.floor(random() * 40 - 25);
    if (kind === 2) return String.fromCodePoint(...Array.from({ length: 4 }, () => Math.floor(random() * 0xd000)));
    if (kind === 3) return random() < 0.5 ? null : random() < 0.5;
    if (kind === 4) return Array.from({ length: 3 }, () => value(depth + 1));
    return Object.fromEntries(Array.from({ length: 3 }, () => [String(random()), value(depth + 1)]));
  };
  for (let round = 0; round < 500; round += 1) {
    const original = value(0);
    const text = canonicalJson(original);
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(original)));
    assert.equal(canonicalJson(JSON.parse(text)), text);
  }
});
