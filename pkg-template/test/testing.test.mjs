import assert from 'node:assert/strict';
import { test } from 'node:test';

import { IntentoError } from 'intento';
import { generic } from 'intento/contracts';
import { memoryQueue, scriptedServer } from 'intento/testing';

const options = { contract: generic, baseUrl: 'https://api.shop.example' };
const payment = {
  operation: 'authorize-payment',
  reference: 'order-842',
  request: { method: 'POST', url: '/payments', body: { amount: 15000, currency: 'BRL' } },
};

let scopes = 0;

/** A queue of its own, over this server, until the test ends. */
async function shop(t, server) {
  const uninstall = server.install();
  const queue = await memoryQueue({ ...options, scope: `shopper-${(scopes += 1)}` });
  t.after(() => {
    queue.close();
    uninstall();
  });
  return queue;
}

const post = (server, key, body = 'a', init = {}) => {
  return server.fetch('https://api.shop.example/payments', { method: 'POST', headers: { 'Idempotency-Key': key }, body, ...init });
};

test('a payment in memory: one request, one effect, told as volatile', async (t) => {
  const server = scriptedServer();
  const queue = await shop(t, server);
  assert.equal(queue.durability, 'volatile');
  const intent = await queue.submit(payment);
  const settled = await intent.settled({ within: 10_000 });
  assert.equal(settled.kind, 'succeeded');
  assert.deepEqual(settled.answer.body, { effect: 1 });
  assert.equal(server.effects, 1);
  const [seen, ...others] = server.requests;
  assert.deepEqual(others, []);
  assert.equal(seen.url, 'https://api.shop.example/payments');
  assert.equal(seen.body, '{"amount":15000,"currency":"BRL"}');
});

test('a lost answer is recovered with the same key, and has one effect', async (t) => {
  const server = scriptedServer({ script: [{ lost: 'answer' }] });
  const queue = await shop(t, server);
  const settled = await (await queue.submit(payment)).settled({ within: 20_000 });
  assert.equal(settled.kind, 'succeeded');
  assert.equal(settled.replay, 'replayed');
  assert.equal(server.effects, 1);
  assert.equal(server.requests.length, 2);
  assert.equal(server.requests[0].key, server.requests[1].key);
});

test('a stored refusal is an outcome without an effect', async (t) => {
  const server = scriptedServer({ script: [{ status: 422, body: { declined: true }, stored: true }] });
  const queue = await shop(t, server);
  const intent = await queue.submit(payment);
  const settled = await intent.settled({ within: 10_000 });
  assert.equal(settled.kind, 'rejected');
  assert.equal(settled.evidence, 'stored');
  assert.equal(server.effects, 0);
});

test('a double click is one intent', async (t) => {
  const server = scriptedServer({ script: [{ delayMs: 50 }] });
  const queue = await shop(t, server);
  const [one, two] = await Promise.all([queue.submit(payment), queue.submit(payment)]);
  assert.equal(one.id, two.id);
  await one.settled({ within: 10_000 });
  assert.equal(server.effects, 1);
});

test('a queue in memory begins empty each time', async (t) => {
  const server = scriptedServer();
  t.after(server.install());
  const first = await memoryQueue({ ...options, scope: 'twice' });
  await (await first.submit(payment)).settled({ within: 10_000 });
  first.close();
  const second = await memoryQueue({ ...options, scope: 'twice' });
  t.after(() => second.close());
  assert.deepEqual(await second.intents(), []);
});

test('memoryQueue refuses what openQueue refuses', async () => {
  await assert.rejects(memoryQueue({ ...options }), (error) => error instanceof IntentoError && error.code === 'scope_missing');
});

test('the script is followed in order, and after it comes success', async () => {
  const server = scriptedServer({ script: [{ status: 503 }, { status: 429, headers: { 'Retry-After': '7' } }] });
  server.next({ status: 200, body: { paid: true } });
  assert.equal((await post(server, 'k1')).status, 503);
  const limited = await post(server, 'k1');
  assert.deepEqual([limited.status, limited.headers.get('Retry-After')], [429, '7']);
  assert.deepEqual(await (await post(server, 'k1')).json(), { paid: true });
  assert.equal((await post(server, 'k2')).status, 201);
  assert.equal(server.effects, 2);
});

test('what was done is kept under its key and given again, marked, with the key', async () => {
  const server = scriptedServer();
  const first = await post(server, 'k1');
  const again = await post(server, 'k1');
  assert.equal(first.headers.get('Idempotent-Replayed'), null);
  assert.equal(again.headers.get('Idempotent-Replayed'), 'true');
  assert.equal(again.headers.get('Idempotency-Key'), 'k1');
  assert.equal(await again.text(), await first.text());
  assert.equal(server.effects, 1);
  assert.equal((await post(server, 'k1', 'b')).status, 422);
  assert.equal(server.effects, 1);
});

test('a request that is lost leaves no trace; a lost answer leaves its effect', async () => {
  const server = scriptedServer({ script: [{ lost: 'request' }, { lost: 'answer' }] });
  await assert.rejects(post(server, 'k1'), TypeError);
  assert.deepEqual([server.effects, server.requests.length], [0, 0]);
  await assert.rejects(post(server, 'k1'), TypeError);
  assert.deepEqual([server.effects, server.requests.length], [1, 1]);
  assert.equal((await post(server, 'k1')).headers.get('Idempotent-Replayed'), 'true');
});

test('a second request while the first is under way is 409, to be asked again', async () => {
  const server = scriptedServer({ script: [{ delayMs: 30, status: 503 }] });
  const first = post(server, 'k1');
  await new Promise((resolve) => setTimeout(resolve, 5));
  const second = await post(server, 'k1');
  assert.deepEqual([second.status, second.headers.get('Retry-After')], [409, '1']);
  assert.equal((await first).status, 503);
  assert.equal(server.effects, 0);
});

test('a request that is given up during a delay rejects as fetch does; its effect stays', async () => {
  const server = scriptedServer({ script: [{ delayMs: 60_000 }] });
  const controller = new AbortController();
  const answer = post(server, 'k1', 'a', { signal: controller.signal });
  setTimeout(() => controller.abort(), 10);
  await assert.rejects(answer, { name: 'AbortError' });
  assert.equal((await post(server, 'k1')).headers.get('Idempotent-Replayed'), 'true');
  assert.equal(server.effects, 1);
});

test('a probe is answered, and counts as nothing', async () => {
  const server = scriptedServer();
  assert.equal((await server.fetch('https://api.shop.example/', { method: 'HEAD', mode: 'no-cors' })).status, 204);
  assert.deepEqual([server.effects, server.requests.length], [0, 0]);
});

test('install puts the old fetch back', () => {
  const platform = globalThis.fetch;
  const server = scriptedServer();
  const uninstall = server.install();
  assert.equal(globalThis.fetch, server.fetch);
  uninstall();
  assert.equal(globalThis.fetch, platform);
});
