import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import vm from 'node:vm';

import * as contracts from 'intento/contracts';
import { source } from 'intento/webview';

const script = await readFile(createRequire(import.meta.url).resolve('intento/iife'), 'utf8');

test('the classic script makes one global, and touches none', () => {
  const realm = vm.createContext(Object.create(null));
  const before = vm.runInContext('Object.getOwnPropertyNames(globalThis)', realm);
  // What a host gets of it, it can carry.
  assert.equal(vm.runInContext(script, realm), true);
  const made = vm.runInContext('Object.getOwnPropertyNames(globalThis)', realm).filter((name) => !before.includes(name));
  assert.equal(made.join(), 'intento');
  const { openQueue, IntentoError, contracts: carried } = realm.intento;
  assert.equal(typeof openQueue, 'function');
  assert.ok(IntentoError.prototype instanceof vm.runInContext('Error', realm));
  assert.deepEqual(Object.keys(carried).sort(), Object.keys(contracts).sort());
});

test('run inside a function, it makes the same global', () => {
  const realm = vm.createContext({});
  vm.runInContext(`(function () { ${script} })()`, realm);
  assert.equal(typeof realm.intento.openQueue, 'function');
});

test('the text for a webview is that script, and nothing in it ends the element that holds it', () => {
  assert.equal(source, script);
  assert.doesNotMatch(source, /<\/|<!--|[^\x00-\x7f]/);
});

test('the engine in the classic script starts', async () => {
  const realm = vm.createContext({
    WebAssembly, AbortController, performance, setTimeout, clearTimeout, fetch, Response, URL, URLSearchParams, TextEncoder, TextDecoder, crypto, console,
  });
  vm.runInContext(script, realm);
  const opening = vm.runInContext(
    `intento.openQueue({ scope: 's', contract: intento.contracts.generic, baseUrl: 'https://api.shop.example', minDurability: 'volatile' })`,
    realm,
  );
  const queue = await opening;
  assert.equal(queue.durability, 'volatile');
  queue.close();
});
