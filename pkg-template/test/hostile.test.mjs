import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { IntentoError, openQueue } from 'intento';
import { generic } from 'intento/contracts';

const folder = dirname(createRequire(import.meta.url).resolve('intento/package.json'));
const load = (name) => import(pathToFileURL(join(folder, name)).href);
const { plainSubmission, headerPairs } = await load('plain.js');
const terms = { keyAt: null, allowCardData: [] };
const { plainFound, plainPrepared } = await load('hooks.js');
const { canonicalJson } = await load('canonical-json.js');
const { News, OpenQueue } = await load('queue.js');

const good = { scope: 'shopper-1', contract: generic, baseUrl: 'https://api.shop.example' };
const request = { method: 'POST', url: '/payments', body: { amount: 1 } };
const submission = { operation: 'pay', reference: 'order-842', request };

/** Runs with these members on `Object.prototype`, as a page's other scripts may leave them. */
function polluted(members, run) {
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(Object.prototype, name, { configurable: true, writable: true, value });
  }
  try {
    return run();
  } finally {
    for (const name of Object.keys(members)) delete Object.prototype[name];
  }
}

function thrower(what) {
  return () => {
    throw new Error(`the app's ${what}`);
  };
}

function typed(code, detail) {
  return (error) => {
    assert.ok(error instanceof IntentoError, String(error));
    assert.equal(error.code, code);
    if (detail !== undefined) assert.equal(error.detail, detail);
    return true;
  };
}

/** What is handed to the engine. */
function taken(given) {
  return JSON.parse(plainSubmission(given, terms).plain[0]);
}

/** A queue of an engine that only writes down what it was asked. */
function recorder() {
  const asked = [];
  const snapshot = { id: 'intent-1', operation: 'pay', reference: 'order-842', state: 'succeeded' };
  const settled = { kind: 'succeeded', intent: snapshot, durable: true, answer: null, replay: 'fresh', evidence: 'reply' };
  const stored = { intent: snapshot, created: true, durability: 'strong' };
  const answers = { settled, submit: stored, replace: stored };
  const raw = new Proxy({}, { get: (_, name) => async (...args) => asked.push([name, ...args]) && (answers[name] ?? snapshot) });
  const queue = new OpenQueue({ ask: (call) => call(raw) }, new News(), null, terms, () => false);
  return { asked, queue };
}

const POLLUTION = {
  reference: 'evil', operation: 'evil', expiresIn: 1, method: 'DELETE', url: 'https://evil.example', headers: { 'X-Evil': '1' },
  body: 'evil', ignore: ['/amount'], request: {}, within: 1, signal: 'evil', state: 'evil', reason: 'evil', toJSON: () => 'evil',
  sealed: true, response: { status: 200 }, kind: 'applied', scope: 'evil', authorize: () => 'evil', session: 'cookie',
  unboundCookies: true, extraOrigins: ['https://evil.example'], 0: 'evil', [Symbol.iterator]: undefined,
};

test('what a polluted prototype has is neither an option nor part of a decision', async () => {
  const plain = taken({ ...submission, request: { ...request, headers: {} } });
  assert.deepEqual(polluted(POLLUTION, () => taken({ ...submission, request: { ...request, headers: {} } })), plain);
  const bare = { operation: 'pay', request: { method: 'POST', url: '/payments' } };
  const { hasReference, hasExpiresIn, headers, body } = polluted(POLLUTION, () => taken(bare));
  assert.deepEqual({ hasReference, hasExpiresIn, headers, body }, { hasReference: false, hasExpiresIn: false, headers: [], body: null });
  const opening = polluted(POLLUTION, () => openQueue({ ...good, scope: undefined }));
  await assert.rejects(opening, typed('scope_missing'));
  await assert.rejects(polluted(POLLUTION, () => openQueue(good)), typed('storage_unavailable'));
});

test('what a polluted prototype has is no part of what a callback answers', () => {
  assert.deepEqual(polluted(POLLUTION, () => JSON.parse(plainPrepared({}).plain)), { headers: [], text: null });
  assert.equal(JSON.parse(polluted(POLLUTION, () => plainFound({ kind: 'not_applied' }))).finding, 'not_found');
  assert.equal(JSON.parse(polluted(POLLUTION, () => plainFound({}))).finding, 'unknown');
  assert.equal(JSON.parse(polluted(POLLUTION, () => plainFound({ kind: 'applied' }))).answer, null);
});

test('what a polluted prototype has is no part of a call', async () => {
  const { asked, queue } = recorder();
  const settled = await polluted(POLLUTION, () => queue.fetch('/payments', { operation: 'pay', reference: 'order-842', method: 'POST' }));
  assert.equal(settled.kind, 'succeeded');
  await polluted(POLLUTION, () => settled && queue.intent('intent-1')).then((intent) =>
    polluted(POLLUTION, () => Promise.all([intent.settled(), intent.reconcile({}), intent.abandon({}), intent.replace({ method: 'POST', url: '/' }, {})])),
  );
  const [submit, ...others] = asked;
  const { method, url, headers, body, expiresIn } = JSON.parse(submit[1]);
  assert.deepEqual({ method, url, headers, body, expiresIn }, { method: 'POST', url: '/payments', headers: [], body: null, expiresIn: null });
  for (const [name, ...args] of others) assert.ok(!JSON.stringify(args).includes('evil'), `${name}: ${JSON.stringify(args)}`);
  assert.ok(others.filter(([name]) => name === 'settled').every(([, , within]) => within === undefined));
});

test('an `Object.prototype` that makes every object a promise is refused', async () => {
  const opening = polluted({ then: () => {} }, () => openQueue(good));
  await assert.rejects(opening, typed('option_invalid', 'Object.prototype.then'));
});

test('getters and proxies that throw are an error of the input', async () => {
  const refuses = new Proxy({}, { getOwnPropertyDescriptor: thrower('trap'), ownKeys: thrower('trap'), get: thrower('trap') });
  const getter = (name) => Object.defineProperty({}, name, { enumerable: true, get: thrower('getter') });
  for (const options of [refuses, { ...good, contract: refuses }, { ...good, onOutcome: refuses }, Object.defineProperty({ ...good }, 'scope', { get: thrower('getter') })]) {
    await assert.rejects(openQueue(options), (error) => error instanceof IntentoError && /option_invalid|contract_invalid/.test(error.code) && /the app's/.test(error.cause.message));
  }
  for (const bad of [
    refuses,
    { ...submission, request: refuses },
    { ...submission, request: { ...request, headers: refuses } },
    { ...submission, request: { ...request, headers: getter('X-Note') } },
    { ...submission, request: { ...request, body: refuses } },
    { ...submission, request: { ...request, body: getter('amount') } },
    { ...submission, request: { ...request, ignore: new Proxy([], { get: thrower('trap') }) } },
  ]) {
    assert.throws(() => plainSubmission(bad, terms), (error) => typed('option_invalid')(error) && /the app's/.test(error.cause.message));
  }
});

test('what answers another thing each time it is asked is asked once', () => {
  let asked = 0;
  const body = Object.defineProperty({}, 'amount', { enumerable: true, get: () => (asked += 1) });
  const plain = taken({ ...submission, request: { ...request, body, ignore: ['/note'] } });
  assert.deepEqual(plain.body, { kind: 'json', text: '{"amount":1}', compared: '{"amount":1}' });
  const reads = {};
  const counting = (target) =>
    new Proxy(target, { get: (it, name) => ((reads[name] = (reads[name] ?? 0) + 1), it[name]) });
  plainSubmission(counting({ ...submission, request: counting({ ...request }) }), terms);
  assert.deepEqual(new Set(Object.values(reads)), new Set([1]), JSON.stringify(reads));
});

test('promises are not what they promise', async () => {
  const soon = (value) => Promise.resolve(value);
  await assert.rejects(openQueue(soon(good)), typed('scope_missing'));
  await assert.rejects(openQueue({ ...good, scope: soon('shopper-1') }), typed('option_invalid', 'scope'));
  await assert.rejects(openQueue({ ...good, contract: soon(generic) }), typed('contract_invalid'));
  const thenable = { then: (resolve) => resolve({}) };
  for (const [change, code] of [
    [{ body: soon({ amount: 1 }) }, 'body_unstorable'],
    [{ body: thenable }, 'body_unstorable'],
    [{ headers: soon({ 'X-Note': 'a' }) }, 'option_invalid'],
    [{ headers: thenable }, 'header_invalid'],
    [{ url: soon('/payments') }, 'option_invalid'],
  ]) {
    assert.throws(() => plainSubmission({ ...submission, request: { ...request, ...change } }, terms), typed(code));
  }
});

test('containers without members of their own are not taken for empty ones', () => {
  for (const headers of [new Headers({ 'X-Note': 'a' }), new Map([['X-Note', 'a']]), new URLSearchParams('a=b')]) {
    assert.throws(() => headerPairs(headers), typed('option_invalid', 'headers'));
  }
  assert.throws(() => headerPairs([['X-Note', 'a']]), IntentoError);
  for (const body of [new Headers({ a: 'b' }), new Map([['a', 1]]), new Set([1]), new FormData(), new Blob(['a']), new Date(), /a/]) {
    assert.throws(() => canonicalJson(body), typed('body_unstorable'));
  }
});

test('objects without a prototype and arrays of a class are what they hold', () => {
  const bare = (members) => Object.assign(Object.create(null), members);
  const given = bare({ ...submission, request: bare({ ...request, headers: bare({ 'X-Note': 'a' }), body: bare({ amount: 1 }) }) });
  assert.deepEqual(taken(given), taken({ ...submission, request: { ...request, headers: { 'X-Note': 'a' } } }));
  class Lines extends Array {
    *[Symbol.iterator]() {
      yield 'another';
    }

    map() {
      return ['another'];
    }

    toJSON() {
      return 'another';
    }
  }
  assert.equal(canonicalJson(Lines.of(1, 2)), '[1,2]');
  Array.prototype[1] = 'evil';
  try {
    // biome-ignore lint: the hole is the point
    assert.throws(() => canonicalJson([1, , 3]), typed('body_unstorable', 'a undefined at /1'));
  } finally {
    delete Array.prototype[1];
  }
});

test('a wait that is no number of milliseconds is refused before the engine is asked', async () => {
  const { asked, queue } = recorder();
  const intent = await queue.intent('intent-1');
  asked.length = 0;
  for (const within of [1n, '1', NaN, { valueOf: thrower('valueOf') }]) {
    await assert.rejects(intent.settled({ within }), typed('option_invalid', 'within'));
    await assert.rejects(intent.reconcile({ within }), typed('option_invalid', 'within'));
    await assert.rejects(queue.fetch('/payments', { ...submission, ...request, within }), typed('option_invalid', 'within'));
  }
  await assert.rejects(intent.settled({ signal: {} }), typed('option_invalid', 'signal'));
  assert.deepEqual(asked, []);
});
