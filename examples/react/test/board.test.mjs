import assert from 'node:assert/strict';
import { test } from 'node:test';
// What the hooks read: not an entry of the package.
import { Board } from '../node_modules/intento/react-board.js';

const NAME = { operation: 'authorize-payment', reference: 'order-842' };
const turn = () => new Promise((done) => setImmediate(done));

/** A queue that says what a test lets it say. */
class FakeQueue {
  found = null;
  lookups = 0;
  closed = 0;
  listeners = new Set();
  async intent() {
    this.lookups += 1;
    return this.found && { snapshot: this.found };
  }
  async intents() {
    return this.found === null ? [] : [this.found];
  }
  on(event, listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  becomes(state, id = 'one') {
    this.found = { id, ...NAME, state, createdAt: 1 };
    for (const listener of this.listeners) listener(this.found);
  }
  close() {
    this.closed += 1;
  }
}

test('a second mount opens again, and each mount closes what it opened', async () => {
  const opened = [];
  const open = async () => opened[opened.push(new FakeQueue()) - 1];
  const board = new Board(open, { owned: true });
  board.mount()();
  const unmount = board.mount();
  const submitter = board.opened();
  await turn();
  assert.deepEqual(opened.map(({ closed }) => closed), [1, 0]);
  assert.equal(await submitter, opened[1], 'whoever waits gets the one that stays');
  assert.deepEqual(opened.map(({ listeners }) => listeners.size), [0, 1]);
  unmount();
  await turn();
  assert.deepEqual(opened.map(({ closed, listeners }) => [closed, listeners.size]), [[1, 0], [1, 0]]);
});

test("an app's own queue is not closed", async () => {
  const queue = new FakeQueue();
  const board = new Board(() => queue, { owned: false });
  board.mount()();
  const unmount = board.mount();
  await turn();
  unmount();
  await turn();
  assert.equal(queue.closed, 0);
});

test('a snapshot stays the same object until its intent changes', async () => {
  const queue = new FakeQueue();
  const board = new Board(() => queue, { owned: false });
  const intent = board.intent(NAME);
  let rendered = 0;
  const unsubscribe = intent.subscribe(() => (rendered += 1));
  assert.equal(intent.read().status, 'opening');
  board.mount();
  await turn();
  const absent = intent.read();
  assert.deepEqual([absent.status, intent.read() === absent, rendered], ['absent', true, 1]);
  queue.becomes('sending');
  await turn();
  const sending = intent.read();
  assert.deepEqual([sending.status, intent.read() === sending, rendered], ['unfinished', true, 2]);
  for (const listener of queue.listeners) listener({ ...queue.found, reference: 'order-843' });
  await turn();
  assert.deepEqual([intent.read() === sending, queue.lookups], [true, 2], 'another intent is no news');
  unsubscribe();
  queue.becomes('succeeded');
  await turn();
  assert.equal(rendered, 2);
});

test('a lookup that was overtaken has nothing to say', async () => {
  const queue = new FakeQueue();
  const board = new Board(() => queue, { owned: false });
  const intent = board.intent(NAME);
  intent.subscribe(() => {});
  let late;
  queue.intent = () => new Promise((found) => (late = found));
  board.mount();
  await turn();
  delete queue.intent;
  queue.becomes('succeeded');
  await turn();
  late(null);
  await turn();
  assert.equal(intent.read().status, 'ended');
});

test('the list has what changed while it was read', async () => {
  const queue = new FakeQueue();
  const board = new Board(() => queue, { owned: false });
  board.all.subscribe(() => {});
  let listed;
  queue.intents = () => new Promise((all) => (listed = all));
  board.mount();
  await turn();
  queue.becomes('succeeded');
  assert.equal(board.all.read().status, 'opening');
  listed([{ id: 'one', ...NAME, state: 'sending', createdAt: 1 }, { id: 'zero', ...NAME, state: 'held', createdAt: 0 }]);
  await turn();
  assert.deepEqual(board.all.read().intents.map(({ id, state }) => `${id} ${state}`), ['zero held', 'one succeeded']);
});

test('a queue that cannot be opened is told to those who render and those who submit', async () => {
  const error = new Error('ledger_unreadable');
  const board = new Board(() => Promise.reject(error), { owned: true });
  const intent = board.intent(NAME);
  intent.subscribe(() => {});
  const submitter = board.opened();
  board.mount();
  await assert.rejects(submitter, error);
  await assert.rejects(board.opened(), error);
  assert.deepEqual([intent.read().status, intent.read().error, board.read().error], ['failed', error, error]);
});
