import { layOut } from './axis.js';
import { shape } from './dom.js';
import { seconds } from './format.js';

/** How what came back is drawn. Tones differ in outline, fill and sign, not only in colour. */
export const signs = { ok: '✓', no: '✕', unknown: '?', wait: '!', open: '→', none: '–', held: '‖', off: '–' };

const [LEFT, RIGHT] = [9, 84];
/** Heights, from the top: signs, bars, axis, labels. */
const [SIGN, TOP, BASE, LABEL, HEIGHT] = [13, 22, 60, 80, 86];
const LABEL_PX = 34;
const SIGN_PX = 15;
const TORN = 5;
/** From the last attempt to the middle of the mark of the end. */
const FINISH_PX = 26;

/**
 * Draws one intent's life into `svg`, `width` pixels wide:
 * `{ from, to, bars: [{ start, end, tone, label, replayed }], floors: [{ start, end, label }], visits: [{ start, end, reload }],
 * due, finish: { at, tone, label } | null, stored, timed }`. Without `timed` the end has no known time and no scale is shown.
 */
export function draw(svg, life, width) {
  const { from, to, bars, floors, visits, due, finish } = life;
  const events = [...bars, ...visits];
  const moments = [...floors.map(({ end }) => end), due, finish?.at].filter((at) => at != null);
  const axis = layOut({ from, to, events, moments }, Math.max(80, width - LEFT - RIGHT));
  const at = (ms) => LEFT + axis.x(ms);
  const taken = [];
  svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
  svg.setAttribute('height', HEIGHT);
  const drawn = [
    ...line(life, axis, at, width),
    ...floors.map((floor) => drawFloor(floor, at)),
    ...visits.map((visit) => drawVisit(visit, at, taken)),
    ...bars.map((bar) => drawBar(bar, at, taken)),
    ...(due === null ? [] : [shape('path', { class: 'due', d: `M${at(due)} ${TOP}V${BASE}` })]),
    text('start', 0, SIGN, life.stored, taken, 50),
    ...(life.timed ? labels(life, axis, at) : []),
    shape('path', { class: 'stored', d: `M${LEFT} ${BASE - 8}l8 8-8 8-8-8z` }),
    ...(finish ? [drawFinish(finish, at(finish.at))] : []),
  ].filter(Boolean);
  svg.replaceChildren(...drawn);
}

/** The axis: dotted while nothing but time passes, broken where the page was away, open-ended until the outcome. */
function line({ to, visits, finish }, { cuts }, at, width) {
  const end = at(finish?.at ?? to);
  const stops = [
    ...visits.filter(({ reload }) => reload).map(({ start, end }) => [at(start), at(end)]),
    ...cuts.map((cut) => [LEFT + cut.x + cut.width / 2 - 5, LEFT + cut.x + cut.width / 2 + 5]),
  ].sort((a, b) => a[0] - b[0]);
  let x = LEFT;
  const solid = [];
  for (const [left, right] of stops) {
    solid.push(`M${x} ${BASE}H${left}`);
    x = right;
  }
  solid.push(`M${x} ${BASE}H${end}`);
  const slashes = cuts.map((cut) => {
    const middle = LEFT + cut.x + cut.width / 2;
    return `M${middle - 8} ${BASE + 7}l6-14M${middle + 2} ${BASE + 7}l6-14`;
  });
  const rest = shape('path', { class: finish ? `lead ${finish.tone}` : 'lead', d: `M${end} ${BASE}H${width + 8}m-6-5l6 5-6 5` });
  return [shape('path', { class: 'axis', d: solid.join('') }), rest, shape('path', { class: 'cut', d: slashes.join('') })];
}

function drawBar({ start, end, tone, label, replayed }, at, taken) {
  const x = at(start);
  const width = Math.max(8, at(end) - x);
  const middle = x + width / 2;
  return shape(
    'g',
    { class: `bar ${tone}` },
    shape('path', { d: outline(tone, x, width) }),
    replayed ? shape('path', { class: 'replay', d: `M${x - 3} ${TOP - 3}H${x + width + 3}V${BASE + 3}H${x - 3}z` }) : null,
    text('middle', middle, SIGN, label, taken, Math.max(SIGN_PX, label.length * 8)),
  );
}

/** A lost answer is torn at its end, one on its way is an arrow, a refusal is notched. */
function outline(tone, x, width) {
  const right = x + width;
  const height = BASE - TOP;
  switch (tone) {
    case 'unknown': {
      const tear = Array.from({ length: 4 }, (_, i) => `l${i % 2 ? TORN : -TORN} ${height / 4}`).join('');
      return `M${x} ${TOP}H${right}${tear}H${x}z`;
    }
    case 'open':
      return `M${x} ${TOP}H${right - 4}L${right + 3} ${(TOP + BASE) / 2}L${right - 4} ${BASE}H${x}z`;
    case 'no':
      return `M${x} ${TOP}L${x + width / 2} ${TOP + 9}L${right} ${TOP}V${BASE}H${x}z`;
    case 'none':
      return `M${x} ${BASE - 6}H${right}V${BASE}H${x}z`;
    default:
      return `M${x} ${TOP}H${right}V${BASE}H${x}z`;
  }
}

function drawFloor({ start, end, label }, at) {
  const [left, right] = [at(start), at(end)];
  const y = BASE - 16;
  return shape(
    'g',
    { class: 'floor' },
    shape('path', { d: `M${left + 2} ${y}H${right}M${right} ${y - 5}V${BASE}` }),
    right - left > LABEL_PX ? shape('text', { x: (left + right) / 2, y: y - 5, 'text-anchor': 'middle' }, label) : null,
  );
}

function drawVisit({ start, end, reload }, at, taken) {
  const [left, right] = [at(start), at(end)];
  const edge = reload ? `M${left} ${TOP - 4}V${BASE + 8}M${right} ${TOP - 4}V${BASE + 8}` : `M${right} ${BASE - 10}V${BASE + 8}`;
  return shape(
    'g',
    { class: 'visit' },
    shape('path', { d: edge }),
    text('middle', (left + right) / 2, SIGN, reload ? '↻' : '+', taken, SIGN_PX),
  );
}

/** Elapsed seconds under the axis, and how much each cut leaves out. */
function labels({ from }, { cuts, ticks }, at) {
  const taken = [];
  return [
    ...cuts.map((cut) => shape('text', { class: 'skipped', x: LEFT + cut.x + cut.width / 2, y: BASE - 14, 'text-anchor': 'middle' }, `+${seconds(cut.ms, 0)} s`)),
    ...ticks.map((ms) => {
      const label = text('middle', at(ms), LABEL, `${seconds(ms - from)} s`, taken, LABEL_PX);
      const mark = shape('path', { class: 'tick', d: `M${at(ms)} ${BASE}v5` });
      return shape('g', {}, mark, label);
    }),
  ].filter(Boolean);
}

function drawFinish({ tone, label }, x) {
  const [cx, cy, r] = [x + FINISH_PX, BASE, 12];
  const outlines = {
    ok: `M${cx - r} ${cy}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
    no: `M${cx - r} ${cy - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    held: `M${cx - 5} ${cy - r}h10l7 7v10l-7 7h-10l-7-7v-10z`,
    off: `M${cx} ${cy - r}l${r} ${r}-${r} ${r}-${r}-${r}z`,
  };
  return shape(
    'g',
    { class: `finish ${tone}` },
    shape('path', { d: outlines[tone] }),
    shape('text', { class: 'sign', x: cx, y: cy + 5, 'text-anchor': 'middle' }, signs[tone]),
    shape('text', { class: 'word', x: x + 8, y: BASE - r - 7 }, label),
  );
}

/** A text, or null where it would run into one of the `taken`. */
function text(anchor, x, y, label, taken, width) {
  const left = anchor === 'start' ? x : x - width / 2;
  if (taken.some((other) => left < other.right && left + width > other.left)) return null;
  taken.push({ left, right: left + width });
  return shape('text', { x, y, 'text-anchor': anchor }, label);
}
