import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Channel, Document, folder, load, ORIGIN, random, restarted, sound, Storage } from './webview.mjs';

const { createHost, originOf } = await load('host.js');
const { asyncStorage } = await load('host-store.js');
const { MESSAGE_MAX_CHARS } = await load('bridge.js');

const snapshot = (id = 'i1') => ({ id, operation: 'authorize-payment', reference: 'order-842', state: 'succeeded' });
const outcome = () => ({ kind: 'succeeded', durable: true, replay: 'fresh', evidence: 'reply', answer: { status: 201, mediaType: null, body: { card: '4242' }, resource: null }, intent: snapshot() });
const later = (ms) => new Promise((done) => setTimeout(done, ms));

function hostWith(options = {}) {
  const refused = [];
  const host = createHost({ origin: ORIGIN, onRefused: (refusal) => refused.push(refusal), ...options });
  return { host, refused };
}

test('the native graph has neither WebAssembly nor import.meta, and imports nothing but its peers', async () => {
  const files = new Map();
  const peers = new Set();
  const visit = async (name) => {
    if (files.has(name)) return;
    const code = await readFile(join(folder, name), 'utf8');
    files.set(name, code);
    for (const [, , from] of code.matchAll(/\b(?:from|import)\s*(\(?)\s*'([^']+)'/g)) {
      if (from.startsWith('./')) await visit(from.slice(2));
      else peers.add(from);
    }
  };
  await visit('react-native.js');
  assert.deepEqual([...peers].sort(), ['react', 'react-native-webview']);
  assert.ok(files.has('host.js') && files.has('bridge.js'), 'the walk has gone on');
  for (const [name, code] of files) {
    const bare = code.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
    assert.doesNotMatch(bare, /WebAssembly|import\s*\.\s*meta|\bimport\s*\(|\bawait\s+import\b/, name);
    assert.doesNotMatch(bare, /\bdocument\b|\bnavigator\b|new URL\b|structuredClone/, `${name} names what Hermes lacks`);
  }
});

for (const [url, origin] of [
  ['https://shop.example', 'https://shop.example'],
  ['https://Shop.Example:443/pay?x#y', 'https://shop.example'],
  ['https://shop.example:8443/', 'https://shop.example:8443'],
  ['http://localhost:3000/a', 'http://localhost:3000'],
  ['http://10.0.2.2:3000', 'http://10.0.2.2:3000'],
  ['http://shop.example', null],
  ['http://localhost.evil.example', null],
  ['https://shop.example@evil.example/', null],
  ['about:blank', null],
  ['file:///index.html', null],
  ['', null],
  [undefined, null],
]) {
  test(`the origin of ${url} is ${origin}`, () => assert.equal(originOf(url), origin));
}

test('a host needs an origin and random bits', () => {
  assert.throws(() => createHost({ origin: 'https://shop.example/' }), { code: 'origin_invalid' });
  assert.throws(() => createHost({ origin: 'http://shop.example' }), { code: 'origin_invalid' });
  const crypto = Object.getOwnPropertyDescriptor(globalThis, 'crypto');
  Object.defineProperty(globalThis, 'crypto', { configurable: true, value: undefined });
  try {
    assert.throws(() => createHost({ origin: ORIGIN }), { code: 'entropy_unavailable' });
    createHost({ origin: ORIGIN, randomBytes: (length) => new Uint8Array(length).fill(7) });
  } finally {
    Object.defineProperty(globalThis, 'crypto', crypto);
  }
});

test('a page of another origin, or a frame, gets no nonce, and nothing is said to it', async () => {
  const { host } = hostWith({ storage: asyncStorage(new Storage()) });
  for (const stranger of [{ origin: 'https://evil.example' }, { origin: `${ORIGIN}.evil.example` }, { isFrame: true }]) {
    assert.equal(new Document(host, sound(), stranger).window.__intentoHost, undefined, JSON.stringify(stranger));
  }
  const page = new Document(host, sound());
  await page.connect();
  // The webview is led elsewhere, where a page waits for what is said to the one before.
  const heard = [];
  const elsewhere = new Document(host, sound(), { origin: 'https://evil.example' });
  elsewhere.window.__intentoHost = { receive: (text) => heard.push(text) };
  host.setState({ connected: false });
  await later(50);
  assert.deepEqual(heard, []);
});

test('what is not from the page is refused, and said to be', async () => {
  const { host, refused } = hostWith({ storage: asyncStorage(new Storage()), onOutcome: () => assert.fail('was run') });
  const sent = [];
  const page = new Document(host, sound());
  const { post } = page;
  page.post = (text) => (sent.push(text), post(text));
  await page.connect();
  const hello = JSON.parse(sent[0]);
  const say = (change, url = `${ORIGIN}/pay`) => {
    const before = refused.length;
    const message = { ...hello, id: 90, last: 90, waits: [90], verb: 'outcome', with: { outcome: outcome() } };
    host.receive({ data: typeof change === 'string' ? change : JSON.stringify({ ...message, ...change }), url });
    assert.equal(refused.length, before + 1, 'it was refused');
    return refused.at(-1);
  };
  assert.equal(say({}, 'https://evil.example/'), 'foreign_origin');
  assert.equal(say({}, `${ORIGIN}.evil.example/`), 'foreign_origin');
  assert.equal(say({}, `${ORIGIN}@evil.example/`), 'foreign_origin');
  assert.equal(say({}, null), 'foreign_origin');
  assert.equal(say({ nonce: 'f'.repeat(32) }), 'wrong_nonce');
  assert.equal(say({ nonce: undefined }), 'malformed');
  assert.equal(say({ session: 'of another page' }), 'dead_session');
  for (const verb of ['eval', 'constructor', '__proto__', 'toString', 'submit']) assert.equal(say({ verb }), 'unknown_verb', verb);
  assert.equal(say({ with: { outcome: 'paid' } }), 'malformed');
  assert.equal(say({ verb: 'commit', with: { expected: [['a', -1]], rows: [] } }), 'malformed');
  assert.equal(say({ verb: 'commit', with: { expected: [], rows: [['a', { version: 1, text: {} }]] } }), 'malformed');
  assert.equal(say({ verb: 'read', with: { names: Array(5_000).fill('a') } }), 'malformed');
  assert.equal(say({ waits: Array(65).fill(1) }), 'malformed');
  assert.equal(say('not JSON'), 'malformed');
  assert.equal(say(' '.repeat(MESSAGE_MAX_CHARS + 1)), 'too_large');
});

test('two sides over a channel that loses, repeats and reorders: each ask is run once, each answer is its own', async () => {
  await Promise.all(
    Array.from({ length: 8 }, async (_, seed) => {
      const draw = random(seed);
      const told = [];
      const { host, refused } = hostWith({ onOutcome: async ({ intent }) => void told.push(intent.id) });
      const page = new Document(host, new Channel(draw));
      const { onOutcome } = await page.connect();
      const ids = Array.from({ length: 100 }, (_, n) => `i${n}`);
      await Promise.all(ids.map((id) => onOutcome({ ...outcome(), intent: snapshot(id) })));
      assert.deepEqual([...told].sort(), [...ids].sort(), `seed ${seed}: each once`);
      assert.deepEqual(refused, []);
    }),
  );
});

test('an outcome crosses without the answer\'s body, and is acknowledged when the app has taken it', async () => {
  const told = [];
  const { host } = hostWith({
    onOutcome: async (taken) => {
      told.push(taken);
      if (told.length === 1) throw Object.assign(new Error('secret'), { code: 'not_now' });
    },
  });
  const { onOutcome } = await new Document(host, sound()).connect();
  await assert.rejects(onOutcome(outcome()), { code: 'failed', detail: 'not_now', message: 'failed (not_now)' });
  await onOutcome(outcome());
  assert.deepEqual(told[1], { kind: 'succeeded', durable: true, intent: snapshot(), answer: { status: 201, resource: null } });
  assert.doesNotMatch(JSON.stringify(told), /4242/);
});

test('without a handler of the app, an outcome stays the page\'s', async () => {
  const { onOutcome } = await new Document(hostWith().host, sound()).connect();
  await assert.rejects(onOutcome(outcome()), { code: 'absent', detail: 'onOutcome' });
});

test('a page that nobody hosts says so', async () => {
  const { connectHost } = await load('react-native-page.js');
  delete globalThis.__intentoHost;
  await assert.rejects(connectHost({ within: 50 }), { code: 'host_missing' });
  const dead = new Channel(() => 0, { lost: 1 });
  await assert.rejects(new Document(hostWith().host, dead).connect({ within: 50 }), { code: 'host_missing' });
});

test('what a dead page left half-done is dropped, and its late messages are refused', async () => {
  const told = [];
  let let_go;
  const { host, refused } = hostWith({ onOutcome: async ({ intent }) => void told.push(intent.id) || (await new Promise((done) => (let_go = done))) });
  const first = new Document(host, sound());
  const late = [];
  const { post } = first;
  first.post = (text) => (late.push(text), post(text));
  const page = await first.connect();
  page.onOutcome({ ...outcome(), intent: snapshot('half') }).catch(() => {});
  await later(20);
  const command = host.intents();
  command.catch(() => {});
  first.channel.dead = true;
  assert.equal(host.restart(), true);
  assert.equal(host.connected, false);
  await assert.rejects(command, { code: 'page_gone' });
  await assert.rejects(host.intents(), { code: 'page_gone' });
  let_go();
  const second = new Document(host, sound());
  assert.notEqual(second.window.__intentoHost.nonce, first.window.__intentoHost.nonce);
  await second.connect();
  assert.equal(host.connected, true);
  for (const data of late) host.receive({ data, url: ORIGIN });
  assert.ok(refused.length === late.length && refused.every((refusal) => refusal === 'wrong_nonce'), refused.join());
  assert.deepEqual(told, ['half']);
});

test('a reload in the same webview is another session, and the old one never comes back', async () => {
  const { host, refused } = hostWith();
  const sent = [];
  const first = new Document(host, sound());
  const { post } = first;
  first.post = (text) => (sent.push(text), post(text));
  await first.connect();
  await new Document(host, sound()).connect();
  host.receive({ data: sent[0], url: ORIGIN });
  assert.deepEqual(refused, ['dead_session']);
});

test('a page that dies of itself is not made anew for ever', () => {
  const { host } = hostWith();
  assert.deepEqual([1, 2, 3, 4, 5].map(() => host.restart()), [true, true, true, false, false]);
  assert.equal(host.lives(), 3);
});

/** Pages move money between two accounts and count what they did; all of it is in every row that they write. */
async function move(store, times, counted) {
  for (let done = 0; done < times; ) {
    try {
      const [from, to] = (await store.read(['from', 'to'])).map((row) => row ?? { version: 0, text: '0' });
      const rows = {
        from: { version: from.version + 1, text: `${Number(from.text) - 1}` },
        to: { version: to.version + 1, text: `${Number(to.text) + 1}` },
      };
      if (!(await store.commit({ from: from.version, to: to.version }, rows))) continue;
      counted.known += 1;
    } catch {
      counted.unknown += 1;
      return;
    }
    done += 1;
  }
}

test('webviews that share a store over bad channels, while pages and the app die: every commit is there once and whole', async () => {
  await Promise.all(
    Array.from({ length: 10 }, async (_, seed) => {
      const draw = random(seed + 1_000);
      let storage = new Storage();
      const counted = { known: 0, unknown: 0 };
      for (let life = 0; life < 3; life += 1) {
        const working = [];
        const hosts = [];
        for (let view = 0; view < 3; view += 1) {
          const { host } = hostWith({ storage: asyncStorage(storage) });
          hosts.push(host);
          const page = await new Document(host, new Channel(draw)).connect();
          working.push(move(page.store, 10, counted));
        }
        // The last life ends by itself; the others in the middle of a write.
        if (life < 2) {
          await later(100 + draw() * 300);
          storage.failAt = Math.floor(draw() * 8);
          await later(60);
          hosts.forEach((host) => host.close());
          storage = restarted(storage);
          // Whatever still waits for an answer waits for nobody.
          counted.unknown += working.length;
          working.length = 0;
        }
        await Promise.all(working);
      }
      const [from, to] = await asyncStorage(restarted(storage)).open(ORIGIN).read(['from', 'to']);
      assert.equal(Number(from.text) + Number(to.text), 0, `seed ${seed}: whole`);
      assert.equal(from.version, to.version);
      assert.equal(Number(to.text), to.version, `seed ${seed}: once`);
      assert.ok(to.version >= counted.known && to.version <= counted.known + counted.unknown, `seed ${seed}: ${to.version} of ${JSON.stringify(counted)}`);
    }),
  );
});

test('a scan larger than a message comes in pages', async () => {
  const storage = new Storage();
  const direct = asyncStorage(storage).open(ORIGIN);
  const text = 'x'.repeat(60_000);
  for (let n = 0; n < 100; n += 1) await direct.commit({ [`intents/${n}`]: 0 }, { [`intents/${n}`]: { version: 1, text } });
  const { host } = hostWith({ storage: asyncStorage(storage) });
  const { store } = await new Document(host, sound()).connect();
  const rows = await store.scan('intents/');
  assert.equal(new Set(rows.map(([name]) => name)).size, 100);
  assert.equal(store.durability, 'strong_relaxed');
});
