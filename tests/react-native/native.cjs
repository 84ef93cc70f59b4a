// React Native's own JavaScript in Node, compiled as Metro does for iOS. Two things are not there: native modules, which
// answer nothing but the constants that are asked for while files load, and the native renderer, whose place a test's takes.
const Module = require('node:module');
const { readFileSync } = require('node:fs');
const babel = require('@babel/core');

const PRESET = require.resolve('@react-native/babel-preset');
const COMPILED = /node_modules[\\/](react-native|react-native-webview|intento|@react-native[\\/](?!babel|codegen)[^\\/]+)[\\/]/;
const RENDERER = /react-native[\\/]Libraries[\\/]ReactNative[\\/]RendererProxy\.js$/;

const screen = { width: 390, height: 844, scale: 3, fontScale: 1 };
const CONSTANTS = {
  PlatformConstants: { osVersion: '18', systemName: 'iOS', interfaceIdiom: 'phone', reactNativeVersion: { major: 0, minor: 88, patch: 1 } },
  DeviceInfo: { Dimensions: { window: screen, screen } },
};

function nativeModule(name) {
  const own = { getConstants: () => CONSTANTS[name] ?? {} };
  return new Proxy(own, { get: (_, method) => own[method] ?? (() => {}) });
}

Object.assign(globalThis, {
  __DEV__: false,
  IS_REACT_ACT_ENVIRONMENT: true,
  nativeModuleProxy: new Proxy({}, { get: (_, name) => nativeModule(name) }),
  __turboModuleProxy: nativeModule,
});

/** Functions that are told what a native view is told to do. */
const commands = new Set();
exports.commands = commands;

const plain = Module._extensions['.js'];

function load(module, filename) {
  if (RENDERER.test(filename)) return void (module.exports = { dispatchCommand: (_, name, args) => commands.forEach((run) => run(name, args)) });
  if (!COMPILED.test(filename)) return plain(module, filename);
  const caller = { name: 'metro', bundler: 'metro', platform: 'ios' };
  const options = { filename, caller, presets: [[PRESET, { enableBabelRuntime: false }]], babelrc: false, configFile: false };
  module._compile(babel.transformSync(readFileSync(filename, 'utf8'), options).code, filename);
}

// In this order: what is there for iOS comes first.
const others = { ...Module._extensions };
for (const extension of Object.keys(others)) delete Module._extensions[extension];
Object.assign(Module._extensions, { '.ios.js': load, '.native.js': load, '.js': load, '.json': others['.json'], '.node': others['.node'] });
