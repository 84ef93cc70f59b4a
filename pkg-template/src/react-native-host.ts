/**
 * `intento/react-native/host`: the native side of a webview's page without React and without react-native-webview, for whoever wires a
 * webview by hand, and for tests without a device.
 */

export { BridgeError } from './bridge.js';
export type { BridgeErrorCode, DeviceState, HostAnswer, HostOutcome, Refusal } from './bridge.js';
export { createHost } from './host.js';
export type { HostOptions, IntentoHost, WebViewMessage } from './host.js';
export { asyncStorage, mmkvStorage } from './host-store.js';
export type { HostStorage, KeyValueStorage, MMKVStorage } from './host-store.js';
export type { AppStore, Durability, IntentSnapshot, StoredRow } from './types.js';
