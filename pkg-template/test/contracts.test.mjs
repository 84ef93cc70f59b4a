import assert from 'node:assert/strict';
import { test } from 'node:test';

import { openQueue } from 'intento';
import * as shipped from 'intento/contracts';

const { defineContract, generic, ...others } = shipped;

/** Node has no IndexedDB: that a queue gets as far as asking for it means that the engine took the contract. */
const opens = (contract) =>
  assert.rejects(openQueue({ scope: `of-${contract.id}`, contract, baseUrl: 'https://api.shop.example' }), {
    code: 'storage_unavailable',
  });

for (const contract of [generic, ...Object.values(others)]) {
  test(`the contract ${contract.id} is taken by both checks`, async () => {
    defineContract(contract);
    await opens(contract);
  });
}

test('a contract of your own: another base, with what differs', async () => {
  const rule = { when: { status: [418] }, then: 'rejected', conclusive: true };
  const mine = defineContract({
    extends: generic, id: 'mine', retentionMs: 3_600_000, marginMs: 60_000, rules: [rule], poll: null,
  });
  assert.equal(mine.id, 'mine');
  assert.equal(mine.retentionMs, 3_600_000);
  assert.deepEqual(mine.rules, [rule, ...generic.rules], 'its own rules are read first');
  assert.deepEqual(mine.carrier, generic.carrier);
  assert.ok(!('extends' in mine) && Object.isFrozen(mine.rules));
  await opens(mine);
});

/** What the shape tells, at once and without the engine. */
for (const [field, change] of [
  ['contract', 7],
  ['id', { id: undefined }],
  ['carrier.in', { carrier: { in: 'cookie', name: 'key' } }],
  ['key.format', { key: { format: 'ulid' } }],
  ['key.maxLength', { key: { format: 'uuid', maxLength: '36' } }],
  ['retentionMs', { retentionMs: '1 day' }],
  ['retentionMs', { retentionMs: -1 }],
  ['retentionByPath.prefix', { retentionByPath: [{ retentionMs: 1 }] }],
  ['methods', { methods: ['GET'] }],
  ['success.statuses', { success: { statuses: [200], mediaTypes: [] } }],
  ['refusal.conclusive', { refusal: { conclusive: 'always' } }],
  ['beforeLayer', { beforeLayer: [42] }],
  ['rules.then', { rules: [{ when: { status: [409] }, then: 'new_key' }] }],
  ['rules.when.pointer.at', { rules: [{ when: { pointer: {} }, then: 'retry' }] }],
  ['retryHints.header', { retryHints: [{}] }],
  ['reconcile.rules', { reconcile: { method: 'GET' } }],
]) {
  test(`defineContract names ${field}`, () => {
    const own = typeof change === 'object' ? { ...generic, ...change } : change;
    assert.throws(() => defineContract(own), (error) => {
      assert.equal(error.code, 'contract_invalid');
      assert.ok(error.detail.startsWith(`${field} must `), error.detail);
      return true;
    });
  });
}

/** What only the engine tells, when a queue is opened. */
for (const [field, change] of [
  ['carrier.name', { carrier: { in: 'body', name: 'key' } }],
  ['key.maxLength', { key: { format: 'uuid', maxLength: 32 } }],
  ['key.alphabet', { key: { format: 'alphabet', alphabet: 'aa' } }],
  ['marginMs', { marginMs: generic.retentionMs }],
  ['marginMs', { retentionByPath: [{ prefix: '/x', retentionMs: 1_000 }] }],
  ['rules.conclusive', { rules: [{ when: { status: [409] }, then: 'retry', conclusive: true }] }],
  ['rules.when', { rules: [{ when: {}, then: 'retry' }] }],
  ['reconcile.path', { reconcile: { method: 'GET', path: '//evil.example/', rules: [{ when: { status: [200] }, then: 'applied' }] } }],
]) {
  test(`openQueue names ${field}`, async () => {
    const contract = { ...generic, ...change };
    const opening = openQueue({ scope: 'shopper-2', contract, baseUrl: 'https://api.shop.example' });
    await assert.rejects(opening, (error) => {
      assert.equal(error.code, 'contract_invalid');
      assert.ok(error.detail.startsWith(`${field} must `), error.detail);
      return true;
    });
  });
}

test('null and absent members of a contract are the same', async () => {
  await opens(defineContract({ ...generic, id: 'nulls', poll: null, echo: null, rules: undefined, reconcile: null }));
});
