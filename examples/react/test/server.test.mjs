import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IntentoProvider, useIntent, useIntents, useQueue, useSubmit } from 'intento/react';
import { createElement, StrictMode } from 'react';
import { renderToString } from 'react-dom/server';

function Known() {
  const { status } = useIntent({ operation: 'authorize-payment', reference: 'order-842' });
  const { intents } = useIntents({ state: 'held' });
  const { pending } = useSubmit();
  return `${useQueue().status} ${status} ${intents.length} ${pending}`;
}

test('a server renders what a browser begins with, opens nothing and reads nothing', (t) => {
  const read = ['indexedDB', 'localStorage', 'navigator', 'document', 'window', 'WebAssembly', 'fetch'].map((name) => {
    const real = Object.getOwnPropertyDescriptor(globalThis, name);
    const get = t.mock.fn(() => undefined);
    Object.defineProperty(globalThis, name, { configurable: true, get });
    t.after(() => (real ? Object.defineProperty(globalThis, name, real) : delete globalThis[name]));
    return [name, get.mock];
  });
  const before = new Map(read.map(([name, mock]) => [name, mock.callCount()]));
  const open = t.mock.fn();
  const page = createElement(StrictMode, null, createElement(IntentoProvider, { open }, createElement(Known)));
  assert.equal(renderToString(page), 'opening opening 0 false');
  assert.equal(open.mock.callCount(), 0);
  for (const [name, mock] of read) assert.equal(mock.callCount(), before.get(name), name);
});

test('a hook without a provider says what is missing', () => {
  assert.throws(() => renderToString(createElement(Known)), /IntentoProvider/);
});
