// `<IntentoWebView>` with the real React Native and the real react-native-webview, rendered by the test renderer; the page half
// is the shipped one.
const { commands } = require('./native.cjs');
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { createContext, runInContext } = require('node:vm');
const { createElement, StrictMode } = require('react');
const { act, create } = require('react-test-renderer');
const { asyncStorage, IntentoWebView, useIntento } = require('intento/react-native');

const ORIGIN = 'https://shop.example';
const source = { uri: `${ORIGIN}/checkout` };
const storage = () => {
  const values = new Map();
  return asyncStorage({
    getItem: async (key) => values.get(key) ?? null,
    setItem: async (key, value) => void values.set(key, value),
    removeItem: async (key) => void values.delete(key),
    getAllKeys: async () => [...values.keys()],
  });
};
const snapshot = { id: 'i1', operation: 'authorize-payment', reference: 'order-842', state: 'succeeded' };
const outcome = { kind: 'succeeded', durable: true, intent: snapshot, answer: { status: 201, mediaType: null, body: { secret: 1 }, resource: null } };
const settle = () => act(() => new Promise((done) => setTimeout(done, 30)));

/** An app on a phone: what it renders, and what its handle knows. */
async function app(props) {
  const known = {};
  function App(given) {
    known.intento = useIntento();
    known.connected = known.intento.connected;
    return createElement(IntentoWebView, { source, intento: known.intento, ...given });
  }
  const tree = (given) => createElement(StrictMode, null, createElement(App, given));
  let renderer;
  await act(() => void (renderer = create(tree(props), { createNodeMock: () => ({}) })));
  const view = () => renderer.root.findByType('RNCWebView').props;
  const update = (given) => act(() => renderer.update(tree(given)));
  return { known, view, update, end: () => act(() => renderer.unmount()) };
}

/** The page in the native view, which runs what it is told to run. */
async function page(view, t) {
  const window = { location: { origin: ORIGIN } };
  Object.assign(window, { window, top: window });
  createContext(window);
  runInContext(view().injectedJavaScriptBeforeContentLoaded, window);
  const run = (name, [script]) => name === 'injectJavaScript' && runInContext(script, window);
  commands.clear();
  commands.add(run);
  t.after(() => commands.delete(run));
  const { onMessage } = view();
  const postMessage = (data) => void act(() => onMessage({ nativeEvent: { data, url: source.uri } }));
  const heard = [];
  globalThis.document = new EventTarget();
  globalThis.window = new EventTarget();
  for (const [target, event] of [[document, 'freeze'], [document, 'resume'], [globalThis.window, 'online'], [globalThis.window, 'offline']]) {
    target.addEventListener(event, () => heard.push(event));
  }
  Object.assign(globalThis, { __intentoHost: window.__intentoHost, ReactNativeWebView: { postMessage } });
  const { connectHost } = await import('intento/react-native/page');
  const host = await connectHost();
  await settle();
  return { host, heard, window, postMessage };
}

test('the native view gets the script for its main frame only, after it what the app wants run', async () => {
  const { view, end } = await app({ injectedJavaScriptBeforeContentLoaded: 'mine()', domStorageEnabled: true });
  assert.match(view().injectedJavaScriptBeforeContentLoaded, /^if \(window\.top === window && location\.origin === "https:\/\/shop\.example"[^\n]*\nmine\(\)$/);
  assert.equal(view().injectedJavaScriptBeforeContentLoadedForMainFrameOnly, true);
  assert.equal(view().messagingEnabled, true);
  assert.deepEqual(view().newSource, source);
  for (const name of ['intento', 'storage', 'onOutcome', 'isConnected', 'appState']) assert.ok(!(name in view()), name);
  await end();
});

test('the page finds its host; outcomes reach the newest handler; the app\'s own messages stay its own', async (t) => {
  const told = [];
  const messages = [];
  const own = { storage: storage(), onMessage: (event) => messages.push(event.nativeEvent.data) };
  const { known, view, update, end } = await app({ ...own, onOutcome: () => assert.fail('an old handler') });
  assert.equal(known.connected, false);
  await assert.rejects(known.intento.intents(), { code: 'page_gone' });
  const { host, postMessage } = await page(view, t);
  assert.equal(known.connected, true);
  assert.equal(host.store.durability, 'strong_relaxed');
  assert.equal(await host.store.commit({ a: 0 }, { a: { version: 1, text: 'x' } }), true);
  await update({ ...own, onOutcome: async (taken) => void told.push(taken) });
  await host.onOutcome(outcome);
  assert.deepEqual(told, [{ kind: 'succeeded', durable: true, intent: snapshot, answer: { status: 201, resource: null } }]);
  postMessage('{"cart":3}');
  assert.deepEqual(messages, ['{"cart":3}']);
  host.serve({ on: () => () => {}, intents: async () => [snapshot] });
  assert.deepEqual(await known.intento.intents(), [snapshot]);
  await end();
  assert.equal(known.intento.connected, false);
});

test('the device\'s state reaches the page as the events that a browser would send', async (t) => {
  const { view, update, end } = await app({ isConnected: true, appState: 'active' });
  const { heard, host } = await page(view, t);
  assert.deepEqual(host.state, { connected: true, active: true });
  for (const state of [{ isConnected: false, appState: 'inactive' }, { isConnected: false, appState: 'background' }, { isConnected: true, appState: 'active' }]) {
    await update(state);
    await settle();
  }
  assert.deepEqual(heard, ['offline', 'freeze', 'resume', 'online']);
  await end();
});

test('a webview whose process has died is made anew, with another nonce', async (t) => {
  const died = [];
  const refused = [];
  const { known, view, end } = await app({ onContentProcessDidTerminate: () => died.push(1), onRefused: (refusal) => refused.push(refusal) });
  const { window, host } = await page(view, t);
  const before = view();
  await act(() => before.onContentProcessDidTerminate({ nativeEvent: {} }));
  assert.deepEqual(died, [1]);
  assert.equal(known.connected, false);
  assert.notEqual(view().injectedJavaScriptBeforeContentLoaded, before.injectedJavaScriptBeforeContentLoaded);
  host.onOutcome(outcome).catch(() => {});
  assert.deepEqual(refused, ['wrong_nonce']);
  const again = await page(view, t);
  assert.notEqual(again.window.__intentoHost.nonce, window.__intentoHost.nonce);
  assert.equal(known.connected, true);
  await end();
});

test('a page without an origin is refused by name (react-native-webview#1635)', async (t) => {
  t.mock.method(console, 'error', () => {});
  await assert.rejects(app({ source: { html: '<p>' } }), { code: 'origin_invalid', message: /source\.baseUrl must be https/ });
  const { end } = await app({ source: { html: '<p>', baseUrl: ORIGIN } });
  await end();
});
