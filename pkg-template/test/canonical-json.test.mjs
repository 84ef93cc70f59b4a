import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

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

/** Rounds of each of the tests below, every one from a seed of its own. */
const ROUNDS = 1_000;

/** SplitMix32. */
function dice(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) % below;
  };
}

const EDGES = [0, -0, 0.1, 1e21, 1e-7, 5e-324, Number.MAX_VALUE, 2 ** 53, 2 ** 53 + 2, -(2 ** 53) + 1, 0.1 + 0.2, 0.3];

function double(roll) {
  if (roll(3) === 0) return EDGES[roll(EDGES.length)];
  const bits = new DataView(new ArrayBuffer(8));
  bits.setUint32(0, roll(2 ** 32));
  bits.setUint32(4, roll(2 ** 32));
  return Number.isFinite(bits.getFloat64(0)) ? bits.getFloat64(0) : 0;
}

/** One in eight has half a character. */
function text(roll) {
  const whole = () => [roll(0x80), 0xff00 + roll(0x100), 0x1f600 + roll(0x50), roll(0xd800)][roll(4)];
  const points = Array.from({ length: roll(5) }, whole);
  if (roll(8) === 0) points.splice(roll(points.length + 1), 0, 0xd800 + roll(0x800));
  return String.fromCodePoint(...points);
}

function value(roll, depth = 0) {
  const kind = roll(depth > 3 ? 4 : 6);
  if (kind === 0) return double(roll);
  if (kind === 1) return roll(2_000_000) / 100;
  if (kind === 2) return text(roll);
  if (kind === 3) return [null, true, false][roll(3)];
  if (kind === 4) return Array.from({ length: roll(4) }, () => value(roll, depth + 1));
  // Own, whatever its name is: `__proto__` too.
  const name = () => (roll(9) === 0 ? '__proto__' : text(roll));
  return Object.fromEntries(Array.from({ length: roll(5) }, () => [name(), value(roll, depth + 1)]));
}

/** The same value in another hand: members in another order, spaces, escapes that need not be. */
function writtenOtherwise(original, roll) {
  const space = ['', ' ', '\n\t'][roll(3)];
  const units = (character) => [...Array(character.length).keys()].map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
  const string = (plain) => `"${[...plain].map((it) => (it < ' ' || '"\\'.includes(it) || roll(2) === 0 ? units(it) : it)).join('')}"`;
  if (typeof original === 'string') return string(original);
  if (Array.isArray(original)) return `[${space}${original.map((item) => writtenOtherwise(item, roll)).join(`${space},`)}]`;
  if (typeof original === 'object' && original !== null) {
    const members = Object.keys(original).map((name) => `${string(name)}${space}:${writtenOtherwise(original[name], roll)}`);
    return `{${members.sort(() => roll(3) - 1).join(`,${space}`)}${space}}`;
  }
  return typeof original === 'number' && roll(2) === 0 ? original.toExponential() : JSON.stringify(original);
}

const isWhole = (original) => !/\\ud[89a-f]/.test(JSON.stringify(original));

test('equal values have one text, however they are written; half a character has none', () => {
  let whole = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const roll = dice(round);
    const original = value(roll);
    const other = JSON.parse(writtenOtherwise(original, roll));
    if (!isWhole(original)) {
      assert.throws(() => canonicalJson(original), { code: 'body_unstorable' }, `seed ${round}`);
      continue;
    }
    whole += 1;
    const told = canonicalJson(original);
    assert.equal(canonicalJson(other), told, `seed ${round}`);
    assert.equal(canonicalJson(JSON.parse(told)), told, `seed ${round}`);
    assert.deepEqual(JSON.parse(told), JSON.parse(JSON.stringify(original)), `seed ${round}`);
  }
  assert.ok(whole > ROUNDS / 2, `${whole} whole`);
});

test('different values have different texts, to the last bit of a number', () => {
  let different = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const roll = dice(round);
    const [one, other] = roll(2) === 0 ? [double(roll), double(roll)] : [value(roll), value(roll)];
    if (!isWhole([one, other])) continue;
    const same = isDeepStrictEqual(JSON.parse(JSON.stringify([one])), JSON.parse(JSON.stringify([other])));
    assert.equal(canonicalJson([one]) === canonicalJson([other]), same, `seed ${round}`);
    different += same ? 0 : 1;
    if (typeof one === 'number' && one !== 0) {
      // The next double.
      const bits = new BigInt64Array(new Float64Array([one]).buffer);
      bits[0] -= 1n;
      assert.notEqual(canonicalJson(new Float64Array(bits.buffer)[0]), canonicalJson(one), `seed ${round}`);
    }
  }
  assert.ok(different > ROUNDS / 4, `${different} different`);
});

test('a body has no integer that JavaScript may have rounded', () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const number = double(dice(round));
    const rounded = Number.isInteger(number) && Math.abs(number) > Number.MAX_SAFE_INTEGER;
    if (rounded) assert.throws(() => canonicalJson([number], { exact: true }), { code: 'body_unstorable' });
    else assert.equal(canonicalJson([number], { exact: true }), canonicalJson([number]));
  }
});
