import assert from 'node:assert/strict';
import { test } from 'node:test';

test('Node imports every entry by name that needs no React', async () => {
  const { openQueue, IntentoError } = await import('intento');
  const { openQueue: openSlim } = await import('intento/slim');
  const { generic, defineContract } = await import('intento/contracts');
  const { memoryQueue, scriptedServer } = await import('intento/testing');
  const { source } = await import('intento/webview');
  const { drainOnSync } = await import('intento/service-worker');
  const { createHost, asyncStorage } = await import('intento/react-native/host');
  const { connectHost } = await import('intento/react-native/page');
  for (const callable of [openQueue, IntentoError, openSlim, defineContract, memoryQueue, scriptedServer, drainOnSync, createHost, asyncStorage, connectHost]) {
    assert.equal(typeof callable, 'function');
  }
  assert.equal(generic.id, 'generic');
  assert.ok(source.length > 100_000);
});

test('Node pays over a lost answer, with what intento/testing has', async () => {
  const { generic } = await import('intento/contracts');
  const { memoryQueue, scriptedServer } = await import('intento/testing');
  const { pay } = await import('../shared/pay.js');
  const server = scriptedServer({ script: [{ lost: 'answer' }] });
  const uninstall = server.install();
  try {
    const { settled } = await pay({ openQueue: memoryQueue, generic, api: 'https://api.shop.example' });
    assert.deepEqual([settled.kind, settled.replay, server.effects], ['succeeded', 'replayed', 1]);
  } finally {
    uninstall();
  }
});
