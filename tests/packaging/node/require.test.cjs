const assert = require('node:assert/strict');
const { test } = require('node:test');

const { openQueue } = require('intento');
const { generic } = require('intento/contracts');

test('a CommonJS app requires it, and is told where it can open a queue', async () => {
  const opening = openQueue({ scope: 'shopper', contract: generic, baseUrl: 'https://api.shop.example' });
  await assert.rejects(opening, { code: 'storage_unavailable' });
});
