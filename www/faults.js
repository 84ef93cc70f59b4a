import { element, part, write } from './dom.js';
import { say } from './words.js';

const BUSY_ANSWERS = 2;
const BUSY_RETRY_AFTER_S = 2;
const SLOW_MS = 3000;
/** Until it is switched off: one lost answer is made good in a blink, and nobody would see it. */
const EVERY_ANSWER = 1000;

/** What each switch asks of the server. Without `on` it stays in this browser. */
const switches = [
  { name: 'drop_after_commit', on: { drop_after_commit: EVERY_ANSWER }, off: { drop_after_commit: 0 } },
  { name: 'hang_after_commit', on: { hang_after_commit: 1 }, off: { hang_after_commit: 0 } },
  {
    name: 'unavailable',
    on: { unavailable: BUSY_ANSWERS, retry_after_s: BUSY_RETRY_AFTER_S },
    off: { unavailable: 0, retry_after_s: null },
  },
  { name: 'delay_ms', on: { delay_ms: SLOW_MS }, off: { delay_ms: 0 } },
  { name: 'cut' },
  { name: 'decline' },
  { name: 'unauthorized', on: { unauthorized: EVERY_ANSWER }, off: { unauthorized: 0 } },
  { name: 'html', on: { html: EVERY_ANSWER }, off: { html: 0 } },
  { name: 'redirect', on: { redirect: 1 }, off: { redirect: 0 } },
];

/** The fault panel. `show(left, askedAt)` mirrors `GET /control/faults`, but not over a switch moved since it was asked. */
export function createFaults({ desk, line, trouble, changed }) {
  const rows = new Map(switches.map((fault) => [fault.name, { ...fault, ...build(fault.name), moving: 0, movedAt: 0 }]));
  part('faults').append(...[...rows.values()].map((row) => row.root));
  for (const row of rows.values()) row.input.addEventListener('change', () => move(row));

  async function move(row) {
    const wanted = row.input.checked;
    row.moving += 1;
    try {
      if (row.on) await desk.setFaults(wanted ? row.on : row.off);
      else if (row.name === 'cut') await line.cut(wanted);
    } catch (error) {
      row.input.checked = !wanted;
      trouble(error);
    } finally {
      row.moving -= 1;
      row.movedAt = performance.now();
      changed();
    }
  }

  async function set(name, wanted) {
    const row = rows.get(name);
    if (row.input.checked === wanted) return;
    row.input.checked = wanted;
    await move(row);
  }

  return {
    declines: () => rows.get('decline').input.checked,
    set,
    /** Everything works again. */
    clear: () => Promise.all(switches.map(({ name }) => set(name, false))),
    show(left, askedAt) {
      const settled = [...rows.values()].filter(({ moving, movedAt }) => moving === 0 && movedAt < askedAt);
      for (const row of settled) {
        const n = left[row.name] ?? 0;
        if (row.on) row.input.checked = n > 0;
        if (row.name === 'cut') row.input.checked = line.isCut();
        write(row.left, row.name === 'unavailable' && n > 0 ? say('fault.left', { n }) : '');
      }
    },
  };
}

function build(name) {
  const id = `fault-${name}`;
  const input = element('input', { type: 'checkbox', id, data: { test: id }, role: 'switch', aria: { labelledby: `${id}-name`, describedby: `${id}-about` } });
  const left = element('span', { className: 'left' });
  const root = element(
    'label',
    { className: 'fault', htmlFor: id, data: { part: `row-${name}` } },
    input,
    element('span', { className: 'fault-name', id: `${id}-name` }, element('span', { data: { say: `fault.${name}` } }), ' ', left),
    element('span', { className: 'quiet', id: `${id}-about`, data: { say: `fault.${name}.about` } }),
  );
  return { root, input, left };
}
