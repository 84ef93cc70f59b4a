// First: React Native has no crypto.getRandomValues of its own.
import 'react-native-get-random-values';
import { AppRegistry } from 'react-native';
import { App } from './App';

AppRegistry.registerComponent('Shop', () => App);
