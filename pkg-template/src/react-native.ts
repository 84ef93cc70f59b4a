/**
 * `intento/react-native`: the native side of a page that runs intento in a react-native-webview. Nothing here needs
 * WebAssembly: the engine runs in the page.
 */

import { createElement, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactElement, type Ref } from 'react';
import { WebView, type WebViewProps } from 'react-native-webview';
import { BridgeError } from './bridge.js';
import { createHost, originOf, type HostOptions, type IntentoHost } from './host.js';

export { BridgeError } from './bridge.js';
export type { BridgeErrorCode, DeviceState, HostAnswer, HostOutcome, Refusal } from './bridge.js';
export { createHost } from './host.js';
export type { HostOptions, IntentoHost, WebViewMessage } from './host.js';
export { asyncStorage, mmkvStorage } from './host-store.js';
export type { HostStorage, KeyValueStorage, MMKVStorage } from './host-store.js';
export type { AppStore, Durability, IntentSnapshot, StoredRow } from './types.js';

/** Every message of intento begins so; others are the app's own. */
const OURS = '{"intento":1,';

/** What an app asks the page's queue. Rejections are `BridgeError`s: `page_gone` before the page has connected. */
export interface Intento extends Pick<IntentoHost, 'intents' | 'cancel' | 'resume' | 'reconcile'> {
  /** Has the page found its host? */
  readonly connected: boolean;
}

/** A handle for one `<IntentoWebView intento={…}>`, the same for the component's life; renders again when `connected` changes. */
export function useIntento(): Intento {
  const [handle] = useState(() => new Handle());
  useSyncExternalStore(handle.subscribe, handle.isConnected, never);
  return handle;
}

/** Those of `WebView`, and those of {@link HostOptions}. */
export interface IntentoWebViewProps extends WebViewProps, Omit<HostOptions, 'origin'> {
  /** An https page, or `html` with a `baseUrl`: a page without an origin could store nothing. */
  source: NonNullable<WebViewProps['source']>;
  /** The origin of the page, where `source` leads to another one. */
  origin?: string | undefined;
  /** From {@link useIntento}. */
  intento?: Intento | undefined;
  /** Of `@react-native-community/netinfo`, say: comes online, and the page looks at once. */
  isConnected?: boolean | null | undefined;
  /** React Native's `AppState.currentState`: in the background the page begins nothing. */
  appState?: string | null | undefined;
  /** Gets the `WebView`: `ref` is not a prop of its own before React 19. */
  webViewRef?: Ref<WebView> | undefined;
}

/**
 * A `WebView` whose page finds this app with `connectHost()` of `intento/react-native/page`. Takes the props of `WebView`.
 * When the page's process dies, the webview is made anew, at most three times a minute; its intents go on with their keys.
 *
 * Throws `origin_invalid` where `source` says no secure origin.
 */
export function IntentoWebView(props: IntentoWebViewProps): ReactElement {
  const { origin, intento, isConnected, appState, webViewRef, storage, namespace, onOutcome, onChange, onRefused, randomBytes, ...own } = props;
  const at = origin ?? originOfSource(props.source);
  const newest = useRef(props);
  newest.current = props;
  const handlesOutcomes = onOutcome !== undefined;
  const host = useMemo(() => {
    const { current } = newest;
    return createHost({
      origin: at,
      storage,
      namespace,
      randomBytes: current.randomBytes,
      onOutcome: handlesOutcomes ? (outcome) => newest.current.onOutcome?.(outcome) : undefined,
      onChange: (intent) => newest.current.onChange?.(intent),
      onRefused: (refusal) => newest.current.onRefused?.(refusal),
    });
  }, [at, storage, namespace, handlesOutcomes]);
  const life = useSyncExternalStore(host.subscribe, host.lives, host.lives);
  useEffect(() => (intento instanceof Handle ? intento.bind(host) : undefined), [intento, host]);
  useEffect(() => host.setState({ connected: isConnected ?? null, active: appState !== 'background' }), [host, isConnected, appState]);
  const ref = useCallback(
    (webView: WebView | null) => {
      host.attach(webView === null ? null : (script) => webView.injectJavaScript(script));
      const outer = newest.current.webViewRef;
      if (typeof outer === 'function') outer(webView);
      else if (outer) outer.current = webView;
    },
    [host],
  );
  const native: WebViewProps = {
    ...own,
    injectedJavaScriptBeforeContentLoaded: `${host.script}\n${own.injectedJavaScriptBeforeContentLoaded ?? ''}`,
    injectedJavaScriptBeforeContentLoadedForMainFrameOnly: true,
    onMessage: (event) => {
      if (event.nativeEvent.data.startsWith(OURS)) host.receive(event.nativeEvent);
      else own.onMessage?.(event);
    },
    onContentProcessDidTerminate: (event) => {
      host.restart();
      own.onContentProcessDidTerminate?.(event);
    },
    onRenderProcessGone: (event) => {
      host.restart();
      own.onRenderProcessGone?.(event);
    },
  };
  return createElement(WebView, { ...native, key: life, ref });
}

class Handle implements Intento {
  readonly #listeners = new Set<() => void>();
  #host: IntentoHost | null = null;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly isConnected = (): boolean => this.#host?.connected ?? false;

  get connected(): boolean {
    return this.isConnected();
  }

  /** Until the function returned is called. */
  bind(host: IntentoHost): () => void {
    this.#host = host;
    this.#tell();
    const stop = host.subscribe(() => this.#tell());
    return () => {
      stop();
      if (this.#host === host) this.#host = null;
      this.#tell();
    };
  }

  async intents() {
    return this.#bound().intents();
  }

  async cancel(id: string) {
    return this.#bound().cancel(id);
  }

  async resume(id: string) {
    return this.#bound().resume(id);
  }

  async reconcile(id: string) {
    return this.#bound().reconcile(id);
  }

  #bound(): IntentoHost {
    if (this.#host === null) throw new BridgeError('page_gone');
    return this.#host;
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

function never(): boolean {
  return false;
}

function originOfSource(source: IntentoWebViewProps['source']): string {
  const [url, name] = 'html' in source ? [source.baseUrl, 'source.baseUrl'] : [source.uri, 'source.uri'];
  const origin = originOf(url);
  if (origin === null) throw new BridgeError('origin_invalid', `${name} must be https, or http on loopback`);
  return origin;
}
