// The native app around a webview: the shipped host, told by HTTP on loopback what a webview would tell it.
//
// node host.mjs PACKAGE STORAGE-FILE ORIGIN, which prints its address. What the page posts comes to /message, the scripts
// to be run in it are fetched from /scripts; the rest is for the test.
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , pkg, file, origin] = process.argv;
const load = (name) => import(pathToFileURL(join(pkg, name)).href);
const [{ createHost }, { asyncStorage }] = await Promise.all([load('host.js'), load('host-store.js')]);

const told = [];
const refused = [];
const host = createHost({
  origin,
  storage: asyncStorage(fileStorage(file)),
  onOutcome: async (outcome) => void told.push(outcome),
  onRefused: (refusal) => refused.push(refusal),
});

let scripts = [];
let wake = () => {};
host.attach((script) => {
  scripts.push(script);
  wake();
});

const answers = {
  '/script': () => host.script,
  '/scripts': async () => {
    if (scripts.length === 0) await new Promise((done) => ((wake = done), setTimeout(done, 1_000)));
    return scripts.splice(0);
  },
  '/message': (message) => host.receive(message),
  '/told': () => ({ told, refused }),
  '/state': (state) => host.setState(state),
  '/restart': () => {
    scripts = [];
    return host.restart();
  },
  '/command': ({ verb, id }) => host[verb](id),
};

const server = createServer(async (request, response) => {
  const text = (await request.toArray()).join('');
  const cors = { 'Access-Control-Allow-Origin': '*', 'Content-Type': 'application/json' };
  try {
    const answer = await answers[request.url](text === '' ? undefined : JSON.parse(text));
    response.writeHead(200, cors).end(JSON.stringify(answer ?? null));
  } catch (error) {
    response.writeHead(500, cors).end(JSON.stringify({ code: error.code ?? String(error) }));
  }
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(`http://127.0.0.1:${server.address().port}`);

/** AsyncStorage on a file, which is there whole or as it was. */
function fileStorage(path) {
  let values = {};
  try {
    values = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  const save = () => {
    writeFileSync(`${path}.new`, JSON.stringify(values));
    renameSync(`${path}.new`, path);
  };
  return {
    getItem: async (key) => values[key] ?? null,
    setItem: async (key, value) => ((values[key] = value), save()),
    removeItem: async (key) => (delete values[key], save()),
    getAllKeys: async () => Object.keys(values),
  };
}
