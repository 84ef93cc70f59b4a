// What intento costs beside raw strict IndexedDB with the same records, in one page.
const RAW = 'raw';
const SHELVES = ['intents', 'payloads', 'journal', 'contracts', 'meta'];
/** Nothing answers there, and nothing is asked twice a second: what is submitted stays where it is. */
const NOWHERE = 'http://127.0.0.1:9';

const instances = [];
const instantiate = WebAssembly.instantiate;
WebAssembly.instantiate = async (...args) => {
  const made = await instantiate(...args);
  instances.push(made.instance ?? made);
  return made;
};

const put = IDBObjectStore.prototype.put;
let captured = null;
IDBObjectStore.prototype.put = function (row) {
  captured?.push([this.name, row]);
  return put.call(this, row);
};

/** The rows that are put while `run` runs. */
async function capture(run) {
  captured = [];
  await run();
  const rows = captured;
  captured = null;
  return rows;
}

async function timed(run) {
  const started = performance.now();
  await run();
  return performance.now() - started;
}

function median(times) {
  const sorted = [...times].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}

/** Both in turn, so that what the machine does meanwhile meets both. */
async function inTurn(times, ours, raw) {
  const [mine, theirs] = [[], []];
  for (let n = 0; n < times; n += 1) {
    mine.push(await timed(() => ours(n)));
    theirs.push(await timed(() => raw(n)));
  }
  return { ours_ms: median(mine), raw_ms: median(theirs) };
}

function settled(request) {
  return new Promise((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
}

/** A database with intento's shelves and indexes. */
function rawDatabase() {
  const request = indexedDB.open(RAW, 1);
  request.onupgradeneeded = () => {
    for (const name of SHELVES) {
      const shelf = request.result.createObjectStore(name, { keyPath: 'id' });
      if (name !== 'intents') continue;
      shelf.createIndex('due', ['scope', 'due']);
      shelf.createIndex('inbox', ['scope', 'inbox']);
      shelf.createIndex('order', ['scope', 'sequence']);
      shelf.createIndex('head_reference', 'head_reference', { unique: true });
    }
  };
  return settled(request);
}

/** One strict transaction that puts these rows, under names of their own. */
function putAll(database, rows, suffix) {
  const transaction = database.transaction(SHELVES, 'readwrite', { durability: 'strict' });
  for (const [shelf, row] of rows) {
    const own = { ...row, id: row.id + suffix };
    if (own.head_reference !== undefined) own.head_reference += suffix;
    put.call(transaction.objectStore(shelf), own);
  }
  return new Promise((done, fail) => {
    transaction.oncomplete = () => done();
    transaction.onabort = () => fail(transaction.error);
  });
}

function payment(order) {
  const body = { amount: 15_000, currency: 'BRL', card: 'tok_visa', order };
  return { operation: 'authorize-payment', reference: order, request: { method: 'POST', url: '/payments', body }, expiresIn: null };
}

const many = (count, first = 0) => Array.from({ length: count }, (_, n) => payment(`order-${first + n}`));

async function fill(queue, count, first = 0) {
  for (let done = 0; done < count; done += 1_000) {
    await Promise.all(many(Math.min(1_000, count - done), first + done).map((one) => queue.submit(one)));
  }
}

export async function run(api) {
  const [{ openQueue }, { generic }] = await Promise.all([import('/pkg/index.js'), import('/pkg/contracts.js')]);
  const open = (scope, more = {}) => openQueue({ scope, contract: generic, baseUrl: NOWHERE, ...more });
  const raw = await rawDatabase();
  const results = [];
  const result = (name, target, { ours_ms, raw_ms }) => results.push({ name, target, ratio: ours_ms / raw_ms, ours_ms, raw_ms });

  // First, in a module that has done nothing else.
  const full = await open('full');
  const [[, { scope }]] = (await capture(() => full.submit(payment('first')))).filter(([shelf]) => shelf === 'intents');
  await fill(full, 9_999);
  const memory = instances.at(-1).exports.memory.buffer.byteLength;
  full.close();
  result('opening with 10,000 pending / getAll of them', 0.5, await inTurn(
    9,
    async () => (await open('full')).close(),
    async () => {
      const database = await settled(indexedDB.open('intento'));
      const range = IDBKeyRange.bound([scope, 0], [scope, Infinity]);
      const all = await settled(database.transaction('intents').objectStore('intents').index('order').getAll(range));
      if (all.length !== 10_000) throw new Error(`${all.length} are stored`);
      database.close();
    },
  ));

  const few = await open('few');
  await fill(few, 100);
  const again = await open('full');
  // As many stay stored, and there is room for more.
  await Promise.all((await again.intents()).slice(0, 200).map(async ({ id }) => (await again.intent(id)).cancel()));
  result('submit with 10,000 stored / with 100', 1.2, await inTurn(
    100,
    (n) => again.submit(payment(`full-${n}`)),
    (n) => few.submit(payment(`few-${n}`)),
  ));
  again.close();

  const one = await capture(() => few.submit(payment('one')));
  result('one submit, p50 / one transaction', 1.5, await inTurn(
    100,
    (n) => few.submit(payment(`one-${n}`)),
    (n) => putAll(raw, one, `-one-${n}`),
  ));
  few.close();

  const thousand = await open('thousand');
  const rows = await capture(() => fill(thousand, 1_000));
  result('1,000 parallel submits / one transaction of their puts', 1.5, await inTurn(
    5,
    (n) => fill(thousand, 1_000, (n + 1) * 1_000),
    (n) => putAll(raw, rows, `-thousand-${n}`),
  ));
  thousand.close();

  result('drain of 1,000, eight at a time / fetch and two strict puts', 1.5, await drains(open, api, raw, rows));
  results.push({ name: 'wasm memory with 10,000 pending, MiB', target: 8, ratio: memory / 2 ** 20 });
  return results;
}

const ROUNDS = 5;

/** Both in turn again, a fifth of the thousand at a time. */
async function drains(open, api, raw, rows) {
  const [intent] = rows.filter(([shelf]) => shelf === 'intents');
  let [ours_ms, raw_ms] = [0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    ours_ms += await drained(open, api, `drain-${round}`, 1_000 / ROUNDS);
    raw_ms += await timed(() => fetched(api, raw, intent, 1_000 / ROUNDS));
  }
  return { ours_ms, raw_ms };
}

/** How long a queue takes that may begin only when all are stored. */
async function drained(open, api, scope, count) {
  let go;
  const gate = new Promise((done) => (go = done));
  const queue = await open(scope, { baseUrl: api, probeUrl: `${api}/health`, authorize: () => gate.then(() => ({ scope })) });
  await Promise.all(many(count, 50_000).map((one) => queue.submit({ ...one, reference: `${scope}-${one.reference}` })));
  const ms = await timed(() => new Promise((done) => {
    let left = count;
    queue.on('change', ({ state }) => {
      if (state === 'succeeded') left -= 1;
      if (left === 0) done();
    });
    go();
  }));
  queue.close();
  return ms;
}

async function fetched(api, raw, intent, count) {
  const left = many(count, 60_000);
  const one = async ({ request: { body } }) => {
    const key = crypto.randomUUID();
    await putAll(raw, [intent], `-drain-${key}`);
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key };
    const answer = await fetch(`${api}/payments`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (answer.status !== 201) throw new Error(`the server said ${answer.status}`);
    await answer.json();
    await putAll(raw, [intent], `-drain-${key}`);
  };
  const work = async () => {
    while (left.length > 0) await one(left.pop());
  };
  await Promise.all(Array.from({ length: 8 }, work));
}
