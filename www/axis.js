// One time axis in pixels. To scale, with two marked exceptions: what happens never gets too narrow to see,
// and long idle stretches are cut.

/** An idle stretch longer than this is cut. */
const IDLE_MS = 6000;
const CUT_PX = 48;
/** The least width of a stretch in which something happens, and of one in which nothing does. */
const EVENT_PX = 10;
const GAP_PX = 3;
/** Most labels of elapsed time. */
const TICKS = 6;
const STEPS_MS = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];

/**
 * Lays out `from` to `to` over `width` pixels. `events` are stretches `{ start, end }`, `moments` single times.
 * Returns `x(ms)`, the `cuts` as `{ x, width, ms }` and `ticks`, the times worth a label.
 */
export function layOut({ from, to, events, moments }, width) {
  const inside = (at) => Math.min(to, Math.max(from, at));
  const stops = [from, to, ...moments.map(inside), ...events.flatMap(({ start, end }) => [inside(start), inside(end)])];
  const sorted = [...new Set(stops)].sort((a, b) => a - b);
  const stretches = sorted.slice(1).map((end, index) => stretch(sorted[index], end, events));
  share(stretches, width);
  let x = 0;
  for (const it of stretches) {
    it.x = x;
    x += it.width;
  }
  return {
    x: (at) => place(stretches, inside(at), from),
    cuts: stretches.filter(({ cut }) => cut).map(({ x, width, ms }) => ({ x, width, ms })),
    ticks: ticks(stretches, from),
  };
}

function stretch(start, end, events) {
  const eventful = events.some((event) => event.start <= start && event.end >= end);
  const ms = end - start;
  return { start, end, ms, cut: !eventful && ms > IDLE_MS, least: eventful ? EVENT_PX : GAP_PX };
}

/** Gives every stretch a width; those that the scale would make too narrow get their least. */
function share(stretches, width) {
  let rest = width;
  let free = [];
  for (const it of stretches) {
    it.width = it.cut ? CUT_PX : it.least;
    if (it.cut) rest -= CUT_PX;
    else free.push(it);
  }
  for (;;) {
    const scale = Math.max(0, rest) / free.reduce((sum, { ms }) => sum + ms, 0);
    const narrow = free.filter(({ ms, least }) => ms * scale < least);
    if (narrow.length === 0) {
      for (const it of free) it.width = it.ms * scale;
      break;
    }
    for (const { least } of narrow) rest -= least;
    free = free.filter((it) => !narrow.includes(it));
  }
  const used = stretches.reduce((sum, it) => sum + it.width, 0);
  for (const it of stretches) it.width *= width / used;
}

function place(stretches, at, from) {
  if (at <= from) return 0;
  const { x, width, start, ms } = stretches.find(({ end }) => at <= end);
  return x + ((at - start) / ms) * width;
}

function ticks(stretches, from) {
  const shown = stretches.filter(({ cut }) => !cut);
  const visible = shown.reduce((sum, { ms }) => sum + ms, 0);
  const step = STEPS_MS.find((ms) => visible / ms <= TICKS) ?? visible;
  return shown.flatMap(({ start, end }) => {
    const times = [];
    for (let at = from + Math.ceil((start - from) / step) * step; at <= end; at += step) times.push(at);
    return times;
  });
}
