// An app in a worker, dedicated or service: does what the page asks of it.
import { submitMany } from '/many.js';
import { generic } from '/pkg/contracts.js';
import { openQueue } from '/pkg/index.js';

let queue = null;

const asked = {
  async open(options) {
    queue = await openQueue({ scope: 'shopper', contract: generic, ...options });
  },
  async submit(submission) {
    const intent = await queue.submit(submission);
    return { intent: intent.snapshot, ...intent.receipt };
  },
  submitMany: (...decisions) => submitMany(asked.submit, ...decisions),
  async settled(id, within) {
    return (await queue.intent(id)).settled({ within });
  },
  without(name) {
    Object.defineProperty(globalThis, name, { value: undefined, configurable: true });
  },
};

async function answer({ name, args }, port) {
  try {
    port.postMessage({ ok: await asked[name](...args) });
  } catch ({ name, code, message }) {
    port.postMessage({ error: { name, code, message } });
  }
}

addEventListener('message', (event) => {
  const answered = answer(event.data, event.ports[0]);
  // A service worker may be ended once it has no event to work for.
  event.waitUntil?.(answered);
});
