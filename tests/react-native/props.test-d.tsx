import AsyncStorage from '@react-native-async-storage/async-storage';
import { createElement } from 'react';
import { asyncStorage, createHost, IntentoWebView, mmkvStorage } from 'intento/react-native';

// The props of WebView are taken as they are.
createElement(IntentoWebView, { source: { uri: 'https://shop.example' }, domStorageEnabled: true, allowsInlineMediaPlayback: true });
createElement(IntentoWebView, { source: { html: '<p>', baseUrl: 'https://shop.example' }, onLoadEnd: ({ nativeEvent }) => nativeEvent.url });
createElement(IntentoWebView, { source: { uri: 'https://shop.example' }, webViewRef: (webView) => webView?.reload() });
// @ts-expect-error there is nothing to show
createElement(IntentoWebView, {});
asyncStorage(AsyncStorage, { durability: 'weak' });
// @ts-expect-error AsyncStorage is no MMKV
mmkvStorage(AsyncStorage);
// @ts-expect-error no such durability
asyncStorage({} as never, { durability: 'eternal' });
// @ts-expect-error no origin
createHost({});
// @ts-expect-error not a storage
mmkvStorage({ getString: () => 7 });
// @ts-expect-error no such prop
createElement(IntentoWebView, { source: { uri: 'https://shop.example' }, allowsEverything: true });
