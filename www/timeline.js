import { element, part, write } from './dom.js';
import { clock, seconds } from './format.js';
import { isUnfinished, secondsUntil } from './status.js';
import { say } from './words.js';

const SHOWN = 20;
/** A shorter life than this is still drawn on an axis of this length. */
const SHORTEST_AXIS_MS = 1000;

/** How a result is drawn: `ok`, `no` and `unknown` differ in fill, edge and sign, not only in colour. */
const tones = { succeeded: 'ok', refused: 'no', mismatched: 'no', not_sent: 'none', open: 'open', accepted: 'wait', in_progress: 'wait', rate_limited: 'wait', auth: 'wait', server_error: 'wait' };
const signs = { ok: '✓', no: '✕', unknown: '?', wait: '↻', open: '→', none: '–' };

/** The intents of this device, newest first, each with its attempts drawn to scale; other orders' finished ones folded away. */
export function createTimeline() {
  const rows = new Map();
  let drawn = '';

  /** Rebuilds what changed; cheap to call often. `order` marks the checkout's own payment. */
  function show(snapshots, order) {
    const newest = snapshots.slice(-SHOWN).reverse();
    for (const snapshot of newest) {
      const row = rows.get(snapshot.id) ?? { root: element('li', { className: 'intent' }), seen: '' };
      rows.set(snapshot.id, row);
      const seen = JSON.stringify([snapshot, order.id, document.documentElement.lang]);
      if (row.seen !== seen) fill(row, snapshot, order);
      Object.assign(row, { seen, snapshot });
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
    part('device-none').hidden = open.length > 0;
    part('earlier').hidden = earlier.length === 0;
    write(part('earlier-title'), say('device.earlier', { n: snapshots.length - open.length }));
    tick();
  }

  /** Moves what depends on the time of day: countdowns, and the axis of unfinished intents. */
  function tick() {
    const now = Date.now();
    for (const row of rows.values()) {
      if (row.snapshot === undefined) continue;
      countDown(row, now);
      scale(row, now);
    }
  }

  return { show, tick };
}

function fill(row, snapshot, order) {
  const { id, state, attemptCount, attempts, reference, keyHash, createdAt } = snapshot;
  row.root.setAttribute('aria-current', reference === order.id);
  Object.assign(row.root.dataset, { test: 'intent', id, state, attempts: attemptCount, current: reference === order.id });
  row.bars = attempts.map((attempt) => ({ attempt, bar: element('span', { className: 'bar' }), floor: element('span', { className: 'floor' }), gap: element('span', { className: 'gap' }) }));
  row.due = { bar: element('span', { className: 'bar due' }), gap: element('span', { className: 'gap' }), text: element('span', {}), root: null };
  row.due.root = element('li', { className: 'attempt next', hidden: true }, element('span', { className: 'what quiet' }, row.due.text), track(row.due.gap, row.due.bar));
  row.end = element('span', {});
  row.root.replaceChildren(
    element(
      'p',
      { className: 'intent-head' },
      element('strong', {}, say('order', { n: (reference ?? id).replace('order-', '') })),
      element('span', { className: `chip ${state}` }, say(`state.${state}`)),
      element('span', { className: 'quiet' }, say('stored-at', { time: clock(createdAt) }), ' · ', say('key'), ' ', element('code', {}, keyHash)),
    ),
    element('ol', { className: 'attempts' }, ...row.bars.map(attemptRow), row.due.root),
    element('p', { className: 'axis quiet', hidden: attempts.length === 0, aria: { hidden: true } }, element('span', {}, '0'), row.end),
  );
}

function attemptRow({ attempt, bar, floor, gap }) {
  const { number, status, result, replayed, startedAt, endedAt, retryAfterMs } = attempt;
  const tone = tones[result] ?? 'unknown';
  bar.classList.add(tone);
  floor.hidden = retryAfterMs === null;
  const facts = [
    status === null ? null : String(status),
    say(`result.${result}`),
    retryAfterMs === null ? null : say('retry-after', { s: seconds(retryAfterMs) }),
    endedAt === null ? null : `${seconds(endedAt - startedAt)} s`,
  ].filter(Boolean);
  return element(
    'li',
    { className: 'attempt', data: { test: 'attempt', result, status: status ?? '', replayed } },
    element(
      'span',
      { className: 'what' },
      element('span', { className: `sign ${tone}`, aria: { hidden: true } }, signs[tone]),
      element('span', {}, `${say('detail.attempt', { n: number })} · ${facts.join(' · ')}`, ' ', replayed ? element('span', { className: 'mark' }, say('replayed')) : null),
    ),
    track(gap, bar, floor),
  );
}

function track(...marks) {
  return element('span', { className: 'track', aria: { hidden: true } }, ...marks);
}

function countDown({ snapshot, due }, now) {
  const { nextAttemptAt } = snapshot;
  const planned = nextAttemptAt !== null && isUnfinished(snapshot) && snapshot.state !== 'sending';
  due.root.hidden = !planned;
  if (!planned) return;
  const left = secondsUntil(nextAttemptAt, now);
  write(due.text, left > 0 ? say('next-in', { s: left }) : say('next-now'));
}

function scale({ snapshot, bars, due, end }, now) {
  const { createdAt, nextAttemptAt } = snapshot;
  const last = bars.flatMap(({ attempt }) => [attempt.startedAt, attempt.endedAt ?? now]);
  const horizon = isUnfinished(snapshot) ? [now, nextAttemptAt ?? now] : [];
  const length = Math.max(SHORTEST_AXIS_MS, Math.max(createdAt, ...last, ...horizon) - createdAt);
  const place = (node, from, to) => {
    node.style.setProperty('--from', Math.min(1, Math.max(0, (from - createdAt) / length)).toFixed(4));
    node.style.setProperty('--span', Math.min(1, Math.max(0, (to - from) / length)).toFixed(4));
  };
  let before = createdAt;
  for (const { attempt, bar, floor, gap } of bars) {
    const ended = attempt.endedAt ?? now;
    place(gap, before, attempt.startedAt);
    place(bar, attempt.startedAt, ended);
    place(floor, ended, ended + (attempt.retryAfterMs ?? 0));
    before = ended;
  }
  if (!due.root.hidden) {
    place(due.gap, before, nextAttemptAt);
    place(due.bar, nextAttemptAt, nextAttemptAt);
  }
  write(end, `${seconds(length)} s`);
}
