// A native shop whose checkout is a web page. The page decides and sends; the app keeps the intents and hears the outcomes.
import AsyncStorage from '@react-native-async-storage/async-storage';
import { useNetInfo } from '@react-native-community/netinfo';
import { useEffect, useState, type ReactElement } from 'react';
import { AppState, Button, Text, View } from 'react-native';
import { asyncStorage, IntentoWebView, useIntento, type HostOutcome, type IntentSnapshot } from 'intento/react-native';

/** Where page/checkout.js is served, over https; on a simulator http://localhost:8080 will do. */
const CHECKOUT = 'https://shop.example/checkout.html';

/** Once for the app: all its webviews share what is stored. The namespace stays when the page's address changes. */
const storage = asyncStorage(AsyncStorage);

export function App(): ReactElement {
  const intento = useIntento();
  const { isConnected } = useNetInfo();
  const appState = useAppState();
  const [paid, setPaid] = useState<HostOutcome[]>([]);
  const [open, setOpen] = useState<readonly IntentSnapshot[]>([]);
  return (
    <View style={{ flex: 1, paddingTop: 48 }}>
      {paid.map(({ kind, intent }) => (
        <Text key={intent.id}>
          {intent.reference}: {kind}
        </Text>
      ))}
      {open.map((intent) => (
        <Button key={intent.id} title={`Cancel ${intent.reference}`} onPress={() => void intento.cancel(intent.id).catch(() => {})} />
      ))}
      <Button
        title="What is unfinished?"
        disabled={!intento.connected}
        onPress={() => void intento.intents().then((all) => setOpen(all.filter(isUnfinished)), () => {})}
      />
      <IntentoWebView
        source={{ uri: CHECKOUT }}
        intento={intento}
        storage={storage}
        namespace="shop"
        isConnected={isConnected}
        appState={appState}
        onOutcome={async (outcome) => setPaid((before) => [...before.filter(({ intent }) => intent.id !== outcome.intent.id), outcome])}
      />
    </View>
  );
}

function isUnfinished({ state }: IntentSnapshot): boolean {
  return state === 'queued' || state === 'waiting' || state === 'held';
}

function useAppState(): string {
  const [state, setState] = useState(AppState.currentState ?? 'active');
  useEffect(() => {
    const subscription = AppState.addEventListener('change', setState);
    return () => subscription.remove();
  }, []);
  return state;
}
