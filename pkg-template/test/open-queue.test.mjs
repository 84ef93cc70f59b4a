import assert from 'node:assert/strict';
import { test } from 'node:test';

import { IntentoError, openQueue } from 'intento';
import { generic } from 'intento/contracts';

const good = { scope: 'shopper-1', contract: generic, baseUrl: 'https://api.shop.example' };

/** The options are judged before storage is looked for, which Node does not have. */
for (const [what, options, code, detail] of [
  ['no options', undefined, 'option_invalid', 'options'],
  ['no scope', { ...good, scope: undefined }, 'scope_missing'],
  ['an empty scope', { ...good, scope: '' }, 'scope_missing'],
  ['a scope that is a number', { ...good, scope: 7 }, 'option_invalid', 'scope'],
  ['a scope of 513 bytes', { ...good, scope: 'x'.repeat(513) }, 'scope_too_long'],
  ['no contract', { ...good, contract: undefined }, 'contract_missing'],
  ['a contract without a retention', { ...good, contract: { ...generic, retentionMs: undefined } }, 'contract_invalid', /retentionMs/],
  ['a contract that is not one', { ...good, contract: { id: 'mine' } }, 'contract_invalid'],
  ['a contract with a wrong field', { ...good, contract: { ...generic, retentionMs: 0 } }, 'contract_invalid', /^retentionMs /],
  ['a contract whose key travels as a credential', { ...good, contract: { ...generic, carrier: { in: 'header', name: 'Authorization' } } }, 'contract_invalid', /^carrier.name /],
  ['no baseUrl', { ...good, baseUrl: undefined }, 'url_invalid', 'baseUrl'],
  ['a relative baseUrl', { ...good, baseUrl: '/api' }, 'url_invalid', 'baseUrl'],
  ['a cleartext baseUrl', { ...good, baseUrl: 'http://api.shop.example' }, 'url_cleartext'],
  ['a baseUrl with a password', { ...good, baseUrl: 'https://a:b@api.shop.example' }, 'url_invalid'],
  ['a cleartext extra origin', { ...good, extraOrigins: ['http://x.example'] }, 'url_cleartext'],
  ['a probe on a foreign origin', { ...good, probeUrl: 'https://elsewhere.example/' }, 'url_foreign_origin', 'probeUrl'],
  ['an attempt of 10 ms', { ...good, attemptDeadlineMs: 10 }, 'option_invalid', 'attemptDeadlineMs'],
  ['an attempt as long as the window', { ...good, contract: { ...generic, retentionMs: 30_001, marginMs: 1 } }, 'option_invalid', 'attemptDeadlineMs'],
  ['a session of another kind', { ...good, session: 'basic' }, 'option_invalid', 'session'],
  ['unbound cookies without a session', { ...good, unboundCookies: true }, 'option_invalid', 'unboundCookies'],
  ['card data allowed for no list', { ...good, allowCardData: 'pay' }, 'option_invalid', 'allowCardData'],
  ['an option that is misspelt', { ...good, onOutcom: {} }, 'option_invalid', 'onOutcom'],
  ['authorize that is no function', { ...good, authorize: 'token' }, 'option_invalid', 'authorize'],
]) {
  test(`openQueue refuses ${what}`, async () => {
    await assert.rejects(openQueue(options), (error) => {
      assert.ok(error instanceof IntentoError);
      assert.equal(error.code, code);
      assert.ok(error.remedy.length > 10);
      if (detail instanceof RegExp) assert.match(error.detail, detail);
      else if (detail !== undefined) assert.equal(error.detail, detail);
      return true;
    });
  });
}

test('options on a polluted prototype are not options', async () => {
  Object.prototype.scope = 'evil';
  try {
    await assert.rejects(openQueue({ ...good, scope: undefined }), { code: 'scope_missing' });
  } finally {
    delete Object.prototype.scope;
  }
});

test('where there is no IndexedDB, opening says so, and a later try is a new one', async () => {
  await assert.rejects(openQueue(good), ({ code, blame, remedy }) => {
    assert.deepEqual([code, blame], ['storage_unavailable', 'platform']);
    assert.match(remedy, /On a server, open the queue in the browser only, or with minDurability 'volatile'/);
    return true;
  });
  await assert.rejects(openQueue(good), { code: 'storage_unavailable' });
});

test('loopback may be cleartext', async () => {
  for (const baseUrl of ['http://localhost:8081', 'http://127.0.0.1:8081', 'http://[::1]:8081', 'http://shop.localhost']) {
    await assert.rejects(openQueue({ ...good, baseUrl }), { code: 'storage_unavailable' });
  }
  for (const baseUrl of ['http://localhost.example', 'http://127.0.0.1.example', 'ftp://localhost']) {
    await assert.rejects(openQueue({ ...good, baseUrl }), { code: /^url_/ });
  }
});
