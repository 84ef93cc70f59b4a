import { element, part, write } from './dom.js';
import { say } from './words.js';

const BUSY_ANSWERS = 2;
const BUSY_RETRY_AFTER_S = 2;
const SLOW_MS = 3000;
/** Until it is switched off: one lost answer is made good in a blink, and nobody would see it. */
const EVERY_ANSWER = 1000;

/** What each switch asks of the server, and how many uses the server says are left. `decline` stays in the page. */
const switches = [
  { name: 'drop_after_commit', on: { drop_after_commit: EVERY_ANSWER }, off: { drop_after_commit: 0 } },
  { name: 'hang_after_commit', on: { hang_after_commit: 1 }, off: { hang_after_commit: 0 } },
  {
    name: 'unavailable',
    on: { unavailable: BUSY_ANSWERS, retry_after_s: BUSY_RETRY_AFTER_S },
    off: { unavailable: 0, retry_after_s: null },
  },
  { name: 'delay_ms', on: { delay_ms: SLOW_MS }, off: { delay_ms: 0 } },
  { name: 'decline' },
];

/** The fault panel. `show(left, askedAt)` mirrors `GET /control/faults`, but not over a switch moved since it was asked. */
export function createFaults({ desk, trouble }) {
  const rows = switches.map((fault) => ({ ...fault, ...build(fault.name), moving: 0, movedAt: 0 }));
  part('faults').append(...rows.map((row) => row.root));
  for (const row of rows) row.input.addEventListener('change', () => move(row));
  const decline = rows.find((row) => row.name === 'decline');

  async function move(row) {
    if (!row.on) return;
    const wanted = row.input.checked;
    row.moving += 1;
    try {
      await desk.setFaults(wanted ? row.on : row.off);
    } catch (error) {
      row.input.checked = !wanted;
      trouble(error);
    } finally {
      row.moving -= 1;
      row.movedAt = performance.now();
    }
  }

  return {
    declines: () => decline.input.checked,
    stopDeclining() {
      decline.input.checked = false;
    },
    show(left, askedAt) {
      for (const row of rows.filter(({ on, moving, movedAt }) => on && moving === 0 && movedAt < askedAt)) {
        const n = left[row.name] ?? 0;
        row.input.checked = n > 0;
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
    { className: 'fault', htmlFor: id },
    input,
    element('span', { className: 'fault-name', id: `${id}-name` }, element('span', { data: { say: `fault.${name}` } }), ' ', left),
    element('span', { className: 'quiet', id: `${id}-about`, data: { say: `fault.${name}.about` } }),
  );
  return { root, input, left };
}
