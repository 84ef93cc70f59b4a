import assert from 'node:assert/strict';
import { readFile, mkdtemp, cp } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { before, after, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { openQueue } from 'intento';
import { generic } from 'intento/contracts';
import { openQueue as openSlim } from 'intento/slim';

const require = createRequire(import.meta.url);
const bytes = await readFile(require.resolve('intento/core.wasm'));
const options = { contract: generic, baseUrl: 'https://api.shop.example', minDurability: 'volatile' };

let server, base;

/** Serves the module rightly and in each wrong way: `/ok`, `/octets`, `/missing`, `/page`, `/page-as-wasm`, `/cut`, `/cut-octets`. */
before(async () => {
  server = createServer(({ url }, answer) => {
    if (url.startsWith('/cut')) {
      const type = url === '/cut' ? 'application/wasm' : 'application/octet-stream';
      answer.writeHead(200, { 'Content-Type': type, 'Content-Length': bytes.length });
      return answer.write(bytes.subarray(0, 50_000), () => answer.destroy());
    }
    const [status, type, body] = {
      '/ok': [200, 'application/wasm', bytes],
      '/octets': [200, 'application/octet-stream', bytes],
      '/missing': [404, 'text/html', '<!doctype html>'],
      '/page': [200, 'text/html', '<!doctype html>'],
      '/page-as-wasm': [200, 'application/wasm', '<!doctype html>'],
    }[url];
    answer.writeHead(status, { 'Content-Type': type }).end(body);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  base = `http://127.0.0.1:${server.address().port}`;
});

after(() => server.close());

let copies = 0;

/** `openQueue` of a copy of the package in which no engine has started. */
async function freshSlim() {
  const folder = dirname(require.resolve('intento/package.json'));
  const copy = await mkdtemp(join(folder, '..', 'intento-copy-'));
  await cp(folder, copy, { recursive: true });
  const { openQueue: fresh } = await import(pathToFileURL(join(copy, 'slim.js')).href);
  return (wasm) => fresh({ ...options, scope: `shopper-${(copies += 1)}`, wasm });
}

for (const [what, wasm] of [
  ['an address', () => `${base}/ok`],
  ['a URL', () => new URL('/ok', base)],
  ['an answer', () => fetch(`${base}/ok`)],
  ['an answer that has come', async () => [await fetch(`${base}/ok`)]],
  ['a server that knows no wasm', () => `${base}/octets`],
  ['an answer of a fetch that is not the platform\'s', () => new Proxy({}, { get: (_, name) => fake()[name], has: (_, name) => name in fake() })],
  ['bytes', () => bytes],
  ['a buffer', () => Uint8Array.from(bytes).buffer],
  ['a compiled module', () => new WebAssembly.Module(bytes)],
]) {
  test(`the engine starts from ${what}`, async () => {
    const open = await freshSlim();
    const given = wasm();
    const [first] = what.includes('has come') ? await given : [given];
    const queue = await open(first);
    assert.equal(queue.durability, 'volatile');
    queue.close();
  });
}

function fake() {
  const headers = new Headers({ 'Content-Type': 'application/wasm' });
  return { ok: true, status: 200, bodyUsed: false, headers, arrayBuffer: async () => Uint8Array.from(bytes).buffer };
}

for (const [what, wasm, remedy] of [
  ['an address with nothing', () => `${base}/missing`, /answered 404/],
  ['a page in its place', () => `${base}/page`, /\(text\/html\) is no WebAssembly/],
  ['an answer that breaks off', () => `${base}/cut`, /broke off/],
  ['an answer of another type that breaks off', () => `${base}/cut-octets`, /broke off/],
  ['an address where nobody is', () => 'http://127.0.0.1:9/', /could not be fetched/],
  ['bytes of something else', () => new Uint8Array([1, 2, 3]), /\(bytes\) is no WebAssembly/],
  ['no bytes', () => new ArrayBuffer(0), /is no WebAssembly/],
  ['an answer that was read', async () => { const read = await fetch(`${base}/ok`); await read.arrayBuffer(); return read; }, /has been read/],
  ['a module of another version', () => new WebAssembly.Module(EMPTY), /not of this version/],
]) {
  test(`from ${what}, it is wasm_unavailable and says so; a later try is a new one`, async () => {
    const open = await freshSlim();
    await assert.rejects(open(wasm()), ({ code, blame, remedy: told }) => {
      assert.deepEqual([code, blame], ['wasm_unavailable', 'platform']);
      assert.match(told, remedy);
      return true;
    });
    (await open(bytes)).close();
  });
}

/** A module that exports nothing. */
const EMPTY = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

test('a page that calls itself wasm is wasm_unavailable', async () => {
  const open = await freshSlim();
  await assert.rejects(open(`${base}/page-as-wasm`), { code: 'wasm_unavailable' });
});

test('no module, or what cannot be one, is option_invalid', async () => {
  for (const wasm of [undefined, null, 7, {}]) {
    const open = await freshSlim();
    await assert.rejects(open(wasm), { code: 'option_invalid', detail: 'wasm' });
  }
});

test('both entries share queues and the engine', async () => {
  const queue = await openQueue({ ...options, scope: 'shared' });
  const same = await openSlim({ ...options, scope: 'shared', wasm: 'never asked for' });
  const other = await openSlim({ ...options, scope: 'another', wasm: 'never asked for' });
  assert.equal(same, queue);
  for (const opened of [queue, same, other]) opened.close();
});
