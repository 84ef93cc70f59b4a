// What the page and the worker open the queue with: it must be the same.
import { generic } from '/intento/contracts.js';

const CACHE = 'session';
const NAME = '/session';

/** Who is signed in, for the worker too, which has no localStorage. Never a token: ask your server for one in `authorize`. */
export async function signIn(user, api) {
  await (await caches.open(CACHE)).put(NAME, Response.json({ user, api }));
}

/** Null: nobody is signed in. */
export async function queueOptions() {
  const session = await (await (await caches.open(CACHE)).match(NAME))?.json();
  if (session === undefined) return null;
  const { user, api } = session;
  return { scope: user, contract: generic, baseUrl: api, probeUrl: `${api}/health`, backgroundSync: true };
}
