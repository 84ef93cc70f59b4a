// A shop's service worker that drains when the browser wakes it. `?api=` says where payments are taken, `?as=` what it can do.
import { generic } from '/pkg/contracts.js';
import { openQueue } from '/pkg/index.js';
import { drainOnSync } from '/pkg/service-worker.js';

const query = new URLSearchParams(location.search);
const api = query.get('api');
const options = { scope: 'shopper', contract: generic, baseUrl: api, probeUrl: `${api}/health`, attemptDeadlineMs: 10_000 };

const shoppers = {
  anyone: () => openQueue(options),
  nobody: () => null,
  without_credentials: () => openQueue({ ...options, authorize: () => Promise.reject(new Error('only the page has a token')) }),
};

/** What came of each wake-up, for the page that comes after. */
const wait = ExtendableEvent.prototype.waitUntil;
ExtendableEvent.prototype.waitUntil = function (work) {
  const { type, tag, lastChance } = this;
  if (type !== 'sync') return wait.call(this, work);
  const note = async (end) => {
    const wakes = await caches.open('wakes');
    const tags = await registration.sync.getTags();
    await wakes.put(`/wakes/${crypto.randomUUID()}`, Response.json({ tag, lastChance, end, tags, at: Date.now() }));
  };
  return wait.call(this, work.then(() => note('resolved'), async (error) => {
    await note(`rejected ${error.message}`);
    throw error;
  }));
};

drainOnSync({ open: shoppers[query.get('as')] });

