/**
 * The part of react-native-webview that the face uses. The package's own types need all of React Native's; tests/react-native
 * compiles the same sources against those.
 */

import type { Component } from 'react';

interface NativeEvent<T> {
  nativeEvent: T;
}

export interface WebViewProps {
  source?: { uri: string } | { html: string; baseUrl?: string };
  injectedJavaScriptBeforeContentLoaded?: string;
  injectedJavaScriptBeforeContentLoadedForMainFrameOnly?: boolean;
  onMessage?: (event: NativeEvent<{ data: string; url: string }>) => void;
  onContentProcessDidTerminate?: (event: NativeEvent<object>) => void;
  onRenderProcessGone?: (event: NativeEvent<object>) => void;
}

export class WebView extends Component<WebViewProps> {
  injectJavaScript(script: string): void;
}
