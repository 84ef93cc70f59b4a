// What react-native-webview gives a page: a way to say something to the app, and the app's scripts, run here.

/** From now on this page is shown by the app at this address. */
export async function becomeWebviewOf(address) {
  const run = globalThis.eval;
  const ask = async (path, body) => (await fetch(address + path, { method: 'POST', body })).json();
  run(await ask('/script'));
  const say = (data) => ask('/message', JSON.stringify({ data, url: location.href })).catch(() => {});
  window.ReactNativeWebView = { postMessage: (data) => void say(data) };
  (async () => {
    for (;;) (await ask('/scripts')).forEach((script) => run(script));
  })().catch(() => {});
}

/** Opens the app's queue as a page of a webview does. */
export async function openHosted(address, options) {
  await becomeWebviewOf(address);
  const { connectHost } = await import('/pkg/react-native-page.js');
  const host = await connectHost();
  await app.open({ ...options, store: host.store, onOutcome: { 'authorize-payment': host.onOutcome } });
  host.serve(app.queue());
}
