import { element, part, shape, write } from './dom.js';
import { draw, signs } from './drawing.js';
import { clock, seconds } from './format.js';
import { isLive, isUnfinished, secondsUntil } from './status.js';
import { visitsWithin } from './visits.js';
import { say } from './words.js';

const SHOWN = 20;
/** A shorter life than this is still drawn on an axis of this length. */
const SHORTEST_AXIS_MS = 1000;

/** How a result is drawn: `unknown` for every other one. */
const tones = { succeeded: 'ok', already_done: 'ok', rejected: 'no', mismatched: 'no', not_sent: 'none', open: 'open', accepted: 'wait', in_progress: 'wait', rate_limited: 'wait', auth: 'wait', config: 'wait', forbidden: 'wait', server_error: 'wait', uncertain: 'wait', key_burnt: 'wait', window_closed: 'wait' };
/** How the end is drawn; an unfinished intent has none. */
const finishes = { succeeded: 'ok', rejected: 'no', mismatched: 'no', held: 'held', abandoned: 'held', not_applied: 'off', cancelled: 'off', expired: 'off' };

/** The intents of this device, newest first, each as one picture and in words; other orders' finished ones folded away. */
export function createTimeline() {
  const rows = new Map();
  let drawn = '';
  const resized = new ResizeObserver(() => rows.forEach((row) => picture(row)));
  for (const list of ['intents', 'earlier-intents']) resized.observe(part(list));

  /** Rebuilds what changed; cheap to call often. `order` marks the checkout's own payment. */
  function show(snapshots, order) {
    const newest = snapshots.slice(-SHOWN).reverse();
    for (const snapshot of newest) {
      const row = rows.get(snapshot.id) ?? { root: element('li', { className: 'intent' }), seen: '' };
      rows.set(snapshot.id, row);
      const seen = JSON.stringify([snapshot, order.id, document.documentElement.lang]);
      if (row.seen === seen) continue;
      const visits = visitsOf(snapshot);
      Object.assign(row, { seen, snapshot, visits, attempts: snapshot.attempts.map((attempt) => told(attempt, snapshot, visits)) });
      fill(row, order);
      picture(row);
    }
    const [open, earlier] = [true, false].map((wanted) =>
      newest.filter((it) => wanted === (it.reference === order.id || isUnfinished(it))).map(({ id }) => id),
    );
    const arrangement = `${open}|${earlier}`;
    if (drawn !== arrangement) {
      part('intents').replaceChildren(...open.map((id) => rows.get(id).root));
      part('earlier-intents').replaceChildren(...earlier.map((id) => rows.get(id).root));
    }
    drawn = arrangement;
    part('device-none').hidden = newest.some(({ reference }) => reference === order.id);
    part('earlier').hidden = earlier.length === 0;
    write(part('earlier-title'), say('device.earlier', { n: snapshots.length - open.length }));
    tick();
  }

  /** Moves what depends on the time of day: countdowns, and the pictures of unfinished intents. */
  function tick() {
    for (const row of rows.values()) {
      countDown(row);
      if (isUnfinished(row.snapshot)) picture(row);
    }
  }

  return { show, tick };
}

function visitsOf(snapshot) {
  return visitsWithin(snapshot.createdAt, isUnfinished(snapshot) ? Date.now() : lastKnown(snapshot));
}

/** An attempt as it is shown: one that was cut short ends, at the latest, with its page or where the next one starts. */
function told(attempt, snapshot, visits) {
  if (attempt.result !== 'open' || isLive(attempt, snapshot)) return attempt;
  const after = [...visits.map(({ start }) => start), ...snapshot.attempts.map(({ startedAt }) => startedAt)];
  const cutAt = Math.min(...after.filter((at) => at > attempt.startedAt), snapshot.nextAttemptAt ?? Infinity);
  return { ...attempt, result: 'interrupted', cutAt: Number.isFinite(cutAt) ? cutAt : attempt.startedAt };
}

/** When the last attempt is known to have ended; where there was none, when the intent was stored. */
function lastKnown({ createdAt, attempts }) {
  return Math.max(createdAt, ...attempts.map(({ startedAt, endedAt }) => endedAt ?? startedAt));
}

function fill(row, order) {
  const { id, state, heldReason, attemptCount, reference, keyHash, createdAt } = row.snapshot;
  row.root.setAttribute('aria-current', reference === order.id);
  Object.assign(row.root.dataset, { test: 'intent', id, state, attempts: attemptCount, current: reference === order.id });
  row.svg = shape('svg', { class: 'picture', 'aria-hidden': 'true' });
  row.next = element('li', { className: 'next', hidden: true });
  row.root.replaceChildren(
    element(
      'p',
      { className: 'intent-head' },
      element('strong', { className: 'number' }, say('order', { n: (reference ?? id).replace('order-', '') })),
      element('span', { className: `chip ${finishes[state] ?? state}` }, say(`state.${state}`)),
      element('span', { className: 'quiet number' }, say('stored-at', { time: clock(createdAt) }), ' · ', say('key'), ' ', element('code', {}, keyHash)),
    ),
    row.svg,
    element('ol', { className: 'events' }, ...events(row), row.next),
    ...(heldReason ? [element('p', { className: 'quiet' }, say(`held.${heldReason}`))] : []),
  );
}

/** The picture in words: attempts and page loads, in the order they happened. */
function events({ attempts, visits }) {
  return [
    ...attempts.map((attempt) => ({ at: attempt.startedAt, node: attemptItem(attempt) })),
    ...visits.map(({ end, reload }) => ({ at: end, node: element('li', { data: { test: 'visit' } }, sign('visit', reload ? '↻' : '+'), say(reload ? 'visit.reload' : 'visit.tab')) })),
  ]
    .sort((a, b) => a.at - b.at)
    .map(({ node }) => node);
}

function attemptItem({ number, status, result, replayed, startedAt, endedAt, retryAfterMs }) {
  const tone = tones[result] ?? 'unknown';
  const facts = [
    [status, say(`result.${result}`)].filter((it) => it !== null).join(' '),
    retryAfterMs === null ? null : say('retry-after', { s: seconds(retryAfterMs) }),
    endedAt === null ? null : `${seconds(endedAt - startedAt)} s`,
  ].filter(Boolean);
  return element(
    'li',
    { data: { test: 'attempt', result, status: status ?? '', replayed } },
    sign(tone, signs[tone]),
    element('span', { className: 'spoken' }, `${say('detail.attempt', { n: number })}: `),
    element('b', { aria: { hidden: true } }, `${number} `),
    facts.join(' · '),
    replayed ? element('span', { className: 'mark' }, say('replayed')) : null,
  );
}

function sign(tone, text) {
  return element('span', { className: `sign ${tone}`, aria: { hidden: true } }, text);
}

function countDown({ snapshot, next }) {
  const { nextAttemptAt } = snapshot;
  next.hidden = !isPlanned(snapshot);
  if (next.hidden) return;
  const left = secondsUntil(nextAttemptAt, Date.now());
  write(next, left > 0 ? say('next-in', { s: left }) : say('next-now'));
}

function isPlanned(snapshot) {
  return snapshot.nextAttemptAt !== null && isUnfinished(snapshot) && snapshot.state !== 'sending';
}

function picture({ snapshot, attempts, visits, svg }) {
  const width = svg.clientWidth;
  if (width === 0) return;
  const now = Date.now();
  const { createdAt, nextAttemptAt, state } = snapshot;
  const unfinished = isUnfinished(snapshot);
  const due = isPlanned(snapshot) ? Math.max(nextAttemptAt, now) : null;
  const last = Math.max(lastKnown(snapshot), ...(unfinished ? [now, due ?? now] : []));
  const timed = unfinished || attempts.length > 0;
  draw(
    svg,
    {
      from: createdAt,
      to: Math.max(last, createdAt + SHORTEST_AXIS_MS),
      bars: attempts.map((attempt) => bar(attempt, now)),
      floors: attempts.filter(({ retryAfterMs, endedAt }) => retryAfterMs && endedAt).map(({ endedAt, retryAfterMs }) => ({ start: endedAt, end: endedAt + retryAfterMs, label: `≥ ${seconds(retryAfterMs)} s` })),
      visits,
      due,
      finish: finishes[state] ? { at: lastKnown(snapshot), tone: finishes[state], label: say(`state.${state}`) } : null,
      stored: say('state.queued'),
      timed,
    },
    width,
  );
}

function bar({ startedAt, endedAt, cutAt, result, status, replayed }, now) {
  const tone = tones[result] ?? 'unknown';
  return { start: startedAt, end: endedAt ?? cutAt ?? now, tone, label: status === null ? signs[tone] : String(status), replayed };
}
