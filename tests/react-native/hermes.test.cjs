// Hermes itself compiles what Metro would bundle: no WebAssembly, no import.meta, no global that it has not.
const assert = require('node:assert/strict');
const { execFileSync, spawnSync } = require('node:child_process');
const { mkdtempSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { dirname, join } = require('node:path');
const { test } = require('node:test');

const folder = { darwin: 'osx-bin', win32: 'win64-bin' }[process.platform] ?? 'linux64-bin';
const hermesc = join(dirname(require.resolve('hermes-compiler/package.json')), 'hermesc', folder, 'hermesc');
const out = mkdtempSync(join(tmpdir(), 'intento-hermes-'));

/** What React Native has, of what the entry uses. */
const GLOBALS = ['Promise', 'setTimeout', 'clearTimeout', 'Error', 'Map', 'Set', 'WeakMap', 'Uint8Array', 'globalThis', 'JSON', 'Object', 'Array', 'Number', 'Math', 'Date'];

function compile(file) {
  const { status, stderr } = spawnSync(hermesc, ['-emit-binary', '-out', join(out, 'out.hbc'), file], { encoding: 'utf8' });
  return { status, stderr, undeclared: [...stderr.matchAll(/the variable "([^"]+)" was not declared/g)].map(([, name]) => name) };
}

function bundle(entry, ...options) {
  const esbuild = require.resolve('esbuild/bin/esbuild', { paths: [join(__dirname, '../../tools')] });
  const file = join(out, 'bundle.js');
  execFileSync(process.execPath, [esbuild, entry, '--bundle', '--format=cjs', `--outfile=${file}`, '--log-level=error', ...options]);
  return file;
}

test('Hermes compiles the entry, and knows every name in it', () => {
  const file = bundle(require.resolve('intento/react-native'), '--external:react', '--external:react-native-webview');
  const { status, stderr, undeclared } = compile(file);
  assert.equal(status, 0, stderr);
  assert.ok(undeclared.includes('setTimeout'), 'it says which names it takes for globals');
  assert.deepEqual([...new Set(undeclared)].filter((name) => !GLOBALS.includes(name)), []);
});

test('it would have refused import.meta, and named WebAssembly', () => {
  const file = join(out, 'refused.js');
  writeFileSync(file, 'console.log(import.meta.url)');
  assert.notEqual(compile(file).status, 0);
  writeFileSync(file, '"use strict"; module.exports = () => WebAssembly.compile();');
  assert.ok(compile(file).undeclared.includes('WebAssembly'));
});
