import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, restarted, Storage } from './webview.mjs';

const { asyncStorage, mmkvStorage } = await load('host-store.js');
const open = (storage) => asyncStorage(storage).open('shop');
const row = (version, text) => ({ version, text });

test('rows are found again, by name and by prefix, and an expected version is compared', async () => {
  const store = open(new Storage());
  assert.equal(await store.commit({ 'intents/1': 0, meta: 0 }, { 'intents/1': row(1, 'a b'), meta: row(1, '') }), true);
  assert.deepEqual(await store.read(['meta', 'none', 'intents/1']), [row(1, ''), null, row(1, 'a b')]);
  assert.deepEqual(await store.scan('intents/'), [['intents/1', row(1, 'a b')]]);
  assert.equal(await store.commit({ 'intents/1': 0 }, { 'intents/1': row(1, 'another') }), false);
  assert.equal(await store.commit({ meta: 1, phantom: 1 }, { meta: row(2, 'x') }), false);
  assert.deepEqual(await store.read(['intents/1', 'meta']), [row(1, 'a b'), row(1, '')]);
});

test('an app that dies at any step of a commit has all of it or nothing', async () => {
  const before = { a: row(1, 'old a'), b: row(1, 'old b') };
  const after = { a: row(2, 'new a'), b: row(2, 'new b'), c: row(1, 'new c') };
  const seen = { old: 0, new: 0 };
  for (let step = 0; ; step += 1) {
    const storage = new Storage();
    await open(storage).commit({ a: 0, b: 0 }, before);
    storage.failAt = step;
    const acknowledged = await open(storage).commit({ a: 1, b: 1, c: 0 }, after).catch((error) => error.code);
    const next = open(restarted(storage));
    const found = await next.read(['a', 'b', 'c']);
    const isNew = found[2] !== null;
    assert.deepEqual(found, isNew ? [after.a, after.b, after.c] : [before.a, before.b, null], `step ${step}`);
    seen[isNew ? 'new' : 'old'] += 1;
    if (acknowledged === true) {
      assert.ok(isNew);
      break;
    }
    assert.equal(acknowledged, 'store_failed');
    // What was recovered is not recovered again over what comes later.
    assert.equal(await next.commit({ a: isNew ? 2 : 1 }, { a: row(isNew ? 3 : 2, 'later') }), true);
    assert.equal((await open(restarted(storage)).read(['a']))[0].text, isNew ? 'new a' : 'old a');
  }
  assert.ok(seen.old > 3 && seen.new > 3, JSON.stringify(seen));
});

test('a log that comes back is not written over what is newer', async () => {
  const storage = new Storage();
  await open(storage).commit({ a: 0, b: 0 }, { a: row(1, 'a1'), b: row(1, 'b1') });
  storage.values.set('intento/shop/log', JSON.stringify([['a', row(1, 'stale')], ['b', row(2, 'b2')]]));
  await open(storage).read([]);
  const next = open(restarted(storage));
  assert.deepEqual(await next.read(['a', 'b']), [row(1, 'a1'), row(2, 'b2')]);
});

test('a log that was left half-way is found by the very store that left it', async () => {
  const storage = new Storage();
  const store = open(storage);
  await store.commit({ a: 0, b: 0 }, { a: row(1, 'a1'), b: row(1, 'b1') });
  // Two reads, the log and one row: the other row's turn fails.
  storage.failAt = 4;
  await assert.rejects(store.commit({ a: 1, b: 1 }, { a: row(2, 'a2'), b: row(2, 'b2') }), { code: 'store_failed' });
  storage.failAt = Infinity;
  assert.deepEqual(await store.read(['a', 'b']), [row(2, 'a2'), row(2, 'b2')]);
});

test('rows that are taken away go with the rest of their commit, or stay with it', async () => {
  const seen = { old: 0, new: 0 };
  for (let step = 0; ; step += 1) {
    const storage = new Storage();
    await open(storage).commit({ a: 0, b: 0 }, { a: row(1, 'a1'), b: row(1, 'b1') });
    storage.failAt = step;
    const acknowledged = await open(storage).commit({ a: 1, b: 1, c: 0 }, { a: null, b: row(2, 'b2'), c: null }).catch(() => false);
    const found = await open(restarted(storage)).read(['a', 'b', 'c']);
    const isNew = found[0] === null;
    assert.deepEqual(found, isNew ? [null, row(2, 'b2'), null] : [row(1, 'a1'), row(1, 'b1'), null], `step ${step}`);
    seen[isNew ? 'new' : 'old'] += 1;
    if (acknowledged) {
      assert.ok(isNew);
      break;
    }
  }
  assert.ok(seen.old > 3 && seen.new > 1, JSON.stringify(seen));
});

test('a log that comes back takes away no other row of the same name', async () => {
  const storage = new Storage();
  const store = open(storage);
  await store.commit({ a: 0, b: 0 }, { a: row(1, 'a1'), b: row(1, 'b1') });
  storage.values.set('intento/shop/log', JSON.stringify([['a', row(1, 'an earlier one'), true], ['b', row(1, 'b1'), true]]));
  assert.deepEqual(await open(restarted(storage)).read(['a', 'b']), [row(1, 'a1'), null]);
});

test('damage is not emptiness', async () => {
  const storage = new Storage();
  await open(storage).commit({ a: 0 }, { a: row(1, 'x') });
  storage.values.set('intento/shop/row/a', 'nonsense');
  await assert.rejects(open(storage).read(['a']), { code: 'store_failed', detail: 'damaged' });
  storage.values.set('intento/shop/log', '[["a",');
  await assert.rejects(open(restarted(storage)).read(['b']), { code: 'store_failed' });
});

test('namespaces do not see each other', async () => {
  const storage = new Storage();
  await asyncStorage(storage).open('one').commit({ a: 0 }, { a: row(1, 'x') });
  assert.deepEqual(await asyncStorage(storage).open('two').scan(''), []);
});

for (const remove of ['remove', 'delete']) {
  test(`MMKV with \`${remove}\``, async () => {
    const values = new Map();
    const mmkv = {
      getString: (key) => values.get(key),
      set: (key, value) => void values.set(key, value),
      getAllKeys: () => [...values.keys()],
      [remove]: (key) => values.delete(key),
    };
    const store = mmkvStorage(mmkv).open('shop');
    assert.equal(await store.commit({ a: 0, b: 0 }, { a: row(1, 'x'), b: row(1, 'y') }), true);
    assert.deepEqual((await mmkvStorage(mmkv).open('shop').scan('')).map(([name]) => name), ['a', 'b']);
    assert.deepEqual([...values.keys()].sort(), ['intento/shop/row/a', 'intento/shop/row/b'], 'no log is left');
  });
}

test('two stores over one storage wait for one another', async () => {
  const storage = new Storage();
  const stores = [open(storage), open(storage)];
  const won = await Promise.all(stores.map((store, mine) => store.commit({ a: 0, b: 0 }, { a: row(1, `${mine}`), b: row(1, `${mine}`) })));
  assert.deepEqual(won, [true, false]);
});
