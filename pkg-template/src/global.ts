/** What the classic script holds: the global `intento` of `intento/iife` and `intento/webview`. */

export { IntentoError, openQueue } from './index.js';
export * as contracts from './contracts.js';
export { drainOnSync } from './service-worker.js';
export { connectHost } from './react-native-page.js';
