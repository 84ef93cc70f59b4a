// What the pages take for granted: names that a reader's app has.
declare const user: { id: string };
declare const queue: import('intento').Queue;
declare const intent: import('intento').Intent;
declare const now: import('intento').Settled;
declare const request: import('intento').IntentRequest;
declare const operation: string;
declare const reference: string;
declare const body: { amount: number; currency: string };
declare const signal: AbortSignal;
declare function token(refresh: boolean): Promise<string>;
declare function show(...what: unknown[]): void;
declare function finish(answer: unknown): void;
declare function explain(answer: unknown): void;
declare function finishOrder(outcome: import('intento').Outcome): Promise<void>;
declare const above: Partial<import('intento').Contract> & { id: string };

// What a React Native app has besides; tests/react-native compiles against the real ones.
declare module 'react-native-get-random-values';
declare module 'react-native-webview' {
  export interface WebViewProps {
    source?: { uri: string } | { html: string; baseUrl?: string };
  }
  export class WebView {
    reload(): void;
  }
}
declare module '@react-native-async-storage/async-storage' {
  const storage: import('intento/react-native').KeyValueStorage;
  export default storage;
}
