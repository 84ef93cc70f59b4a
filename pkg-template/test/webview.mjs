// A webview as intento's two halves see one: strings in both directions, and a script run before content loads.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createContext, runInContext } from 'node:vm';

export const folder = dirname(createRequire(import.meta.url).resolve('intento/package.json'));
export const load = (name) => import(pathToFileURL(join(folder, name)).href);

export const ORIGIN = 'https://shop.example';

/** mulberry32: the same numbers for the same seed. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Hands strings on; loses, repeats and delays some, by the numbers of `draw`. */
export class Channel {
  dead = false;
  constructor(draw, { lost = 0.15, repeated = 0.2, delayMs = 25 } = {}) {
    Object.assign(this, { draw, lost, repeated, delayMs });
  }

  carry(text, deliver) {
    if (this.draw() < this.lost) return;
    const copies = this.draw() < this.repeated ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      setTimeout(() => this.dead || deliver(text), this.draw() * this.delayMs);
    }
  }
}

export const sound = () => new Channel(() => 0.999, { lost: 0, repeated: 0, delayMs: 0 });

/** One document that a webview shows, with the platform's own `window` for the host's scripts. */
export class Document {
  constructor(host, channel, { origin = ORIGIN, isFrame = false } = {}) {
    this.host = host;
    this.channel = channel;
    this.origin = origin;
    const window = { location: { origin } };
    Object.assign(window, { window, top: isFrame ? {} : window });
    this.window = createContext(window);
    this.run(host.script);
    host.attach((script) => channel.carry(script, (carried) => this.run(carried)));
  }

  run(script) {
    return runInContext(script, this.window);
  }

  post = (data) => this.channel.carry(data, (carried) => this.host.receive({ data: carried, url: `${this.origin}/checkout` }));

  /** The page half in this document. */
  async connect(options) {
    const { connectHost } = await load('react-native-page.js');
    Object.assign(globalThis, { __intentoHost: this.window.__intentoHost, ReactNativeWebView: { postMessage: this.post } });
    return connectHost(options);
  }
}

/** AsyncStorage as far as it is used; `failAt` counts down the operations until all of them fail, as in an app that dies. */
export class Storage {
  values = new Map();
  failAt = Infinity;

  async step() {
    await null;
    this.failAt -= 1;
    if (this.failAt < 0) throw new Error('the app is gone');
  }

  async getItem(key) {
    await this.step();
    return this.values.get(key) ?? null;
  }

  async setItem(key, value) {
    await this.step();
    this.values.set(key, value);
  }

  async removeItem(key) {
    await this.step();
    this.values.delete(key);
  }

  async getAllKeys() {
    await this.step();
    return [...this.values.keys()];
  }
}

/** The values of a storage in a new app. */
export function restarted({ values }) {
  return Object.assign(new Storage(), { values: new Map(values) });
}
