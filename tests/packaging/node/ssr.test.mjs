import assert from 'node:assert/strict';
import { test } from 'node:test';

import { openQueue } from 'intento';
import { generic } from 'intento/contracts';

/** A component as a server renders it: the queue is opened where there is a browser, and nowhere else. */
function checkout({ order }) {
  const onMount = () => openQueue({ scope: 'shopper', contract: generic, baseUrl: 'https://api.shop.example' });
  return { html: `<form data-order="${order}"><button>Pay</button></form>`, onMount };
}

test('a server renders a page that imports it, and loads no engine for that', (t) => {
  const compile = t.mock.method(WebAssembly, 'compile');
  const { html } = checkout({ order: 'order-842' });
  assert.equal(html, '<form data-order="order-842"><button>Pay</button></form>');
  assert.equal(compile.mock.callCount(), 0);
});

test('a server that opens the queue while it renders is told not to', async () => {
  await assert.rejects(checkout({ order: 'order-842' }).onMount(), ({ remedy }) => {
    assert.match(remedy, /On a server, open the queue in the browser only/);
    return true;
  });
});
