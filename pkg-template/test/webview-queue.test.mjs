// The real engine in a page that a webview shows, over a channel that loses, repeats and reorders, while pages and the app die.
import assert from 'node:assert/strict';
import { cp, mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { generic } from 'intento/contracts';
import { Channel, Document, folder, load, ORIGIN, random, restarted, Storage } from './webview.mjs';

const { createHost } = await load('host.js');
const { asyncStorage } = await load('host-store.js');

const ORDERS = ['order-1', 'order-2', 'order-3'];
const SEEDS = 6;

/** Keeps what it did under the key, and loses every third answer after the charge. */
async function shop(t, draw) {
  const charges = [];
  const server = createServer(async (request, response) => {
    const key = request.headers['idempotency-key'];
    const body = (await request.toArray()).join('');
    if (request.method !== 'POST') return response.end();
    const known = charges.some((charge) => charge.key === key);
    if (!known) charges.push({ key, order: JSON.parse(body).order });
    if (draw() < 0.33) return request.socket.destroy();
    response.writeHead(201, { 'Content-Type': 'application/json', 'Idempotency-Key': key }).end('{"paid":true}');
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(() => (server.closeAllConnections(), server.close()));
  return { charges, url: `http://127.0.0.1:${server.address().port}` };
}

/** A page as it is loaded: its own copy of the package, and nothing remembered. */
async function loaded(host, channel, url) {
  const copy = await mkdtemp(join(folder, '..', 'intento-page-'));
  await cp(folder, copy, { recursive: true });
  const own = (name) => import(pathToFileURL(join(copy, name)).href);
  const [{ openQueue }, { connectHost }] = [await own('index.js'), await own('react-native-page.js')];
  const { window, post } = new Document(host, channel);
  Object.assign(globalThis, { __intentoHost: window.__intentoHost, ReactNativeWebView: { postMessage: post } });
  const native = await connectHost();
  const queue = await openQueue({
    scope: 'shopper',
    contract: generic,
    baseUrl: url,
    attemptDeadlineMs: 1_000,
    store: native.store,
    onOutcome: { pay: native.onOutcome },
  });
  native.serve(queue);
  return queue;
}

const pay = (queue, order) =>
  queue.submit({ operation: 'pay', reference: order, request: { method: 'POST', url: '/pay', body: { order } } });

async function dies(t, seed) {
  const draw = random(seed + 77);
  const { charges, url } = await shop(t, draw);
  const told = new Map();
  const onOutcome = async ({ kind, intent }) => void told.set(intent.reference, [...(told.get(intent.reference) ?? []), kind]);
  let storage = new Storage();
  let host = createHost({ origin: ORIGIN, storage: asyncStorage(storage), onOutcome });

  const first = new Channel(draw);
  const dying = await loaded(host, first, url);
  for (const order of ORDERS) pay(dying, order).catch(() => {});
  await new Promise((done) => setTimeout(done, draw() * 1_500));
  first.dead = true;
  if (seed % 2 === 0) {
    // The app with it, in the middle of what it writes.
    storage.failAt = Math.floor(draw() * 6);
    await new Promise((done) => setTimeout(done, 30));
    host.close();
    storage = restarted(storage);
    host = createHost({ origin: ORIGIN, storage: asyncStorage(storage), onOutcome });
  } else {
    host.restart();
  }

  const queue = await loaded(host, new Channel(draw), url);
  t.after(() => (queue.close(), dying.close()));
  const known = await Promise.all(ORDERS.map(async (order) => (await pay(queue, order)).settled({ within: 40_000 })));
  assert.deepEqual(known.map(({ kind }) => kind), ORDERS.map(() => 'succeeded'));
  assert.deepEqual(charges.map(({ order }) => order).sort(), ORDERS, 'one charge and one key an order');
  // A page that died while it told the host has its claim for as long as a handler may take: half a minute, and a backoff.
  const ends = Date.now() + 60_000;
  while (told.size < ORDERS.length && Date.now() < ends) await new Promise((done) => setTimeout(done, 50));
  for (const order of ORDERS) assert.ok(told.get(order)?.every((kind) => kind === 'succeeded'), `${order}: ${told.get(order)}`);
}

test('one charge an order, and the app hears of it, whoever dies', { concurrency: SEEDS }, async (t) => {
  await Promise.all(Array.from({ length: SEEDS }, (_, seed) => t.test(`seed ${seed}`, (t) => dies(t, seed))));
});
