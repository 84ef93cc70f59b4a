import { element, part, write } from './dom.js';
import { clock } from './format.js';
import { say, sayCount } from './words.js';

const POLL_MS = 400;
const WIRE_SHOWN = 8;
const COUNTERS = ['wire', 'executions', 'replays', 'effects'];

/** Asks the control desk again and again while the page is visible, each time after `before`; each answer or failure goes to its listener. */
export function watchServer(desk, { before, state, faults, trouble }) {
  const poll = async () => {
    if (!document.hidden) {
      const askedAt = performance.now();
      try {
        await before();
        const [serverState, left] = await Promise.all([desk.state(), desk.faults()]);
        state(serverState);
        faults(left, askedAt);
        trouble(null);
      } catch (error) {
        trouble(error);
      }
    }
    setTimeout(poll, POLL_MS);
  };
  poll();
}

/** The server's side: the charges for the checkout's order, the counters and the wire log. */
export function createServerView() {
  let last = null;
  let drawn = '';

  function charges(order) {
    return last?.effects.filter((effect) => effect.order === order.id).length ?? 0;
  }

  /** `keyHash` marks the lines of the checkout's payment; null where there is none. */
  function show(state, order, keyHash) {
    last = state ?? last;
    if (last === null) return;
    const seen = JSON.stringify([last, order.id, keyHash, document.documentElement.lang]);
    if (drawn === seen) return;
    drawn = seen;
    const mine = charges(order);
    write(part('charges'), String(mine));
    part('charges').dataset.count = Math.min(mine, 2);
    write(part('charges-unit'), sayCount('charge', mine));
    write(part('charges-order'), say('order', { n: order.id.slice('order-'.length) }));
    part('counters').replaceChildren(
      ...COUNTERS.map((name) =>
        element(
          'div',
          {},
          element('dt', {}, say(`counter.${name}`)),
          element('dd', { className: 'number', data: { test: `counter-${name}` } }, String(last.counters[name])),
        ),
      ),
    );
    const wire = last.wire.slice(-WIRE_SHOWN);
    part('wire').replaceChildren(...wire.map((entry) => wireRow(entry, keyHash)));
    part('wire-table').hidden = wire.length === 0;
    part('wire-none').hidden = wire.length > 0;
  }

  return {
    show,
    /** How often the server says it charged an order. */
    charges,
    trouble(error) {
      const note = part('trouble');
      note.hidden = error === null;
      if (error) write(note, say(`trouble.${error.code === 'closed' ? 'closed' : 'unreachable'}`));
    },
  };
}

function wireRow({ at_ms, key_hash, status, replayed, answered, fault }, keyHash) {
  const notes = [
    replayed ? element('span', { className: 'mark' }, say('replayed')) : null,
    fault ? element('span', { className: 'mark bad' }, say(`fault.${fault}`)) : null,
    !answered && !fault ? element('span', { className: 'mark bad' }, say('wire.lost')) : null,
  ];
  return element(
    'tr',
    { data: { test: 'wire-row', status: status ?? 'none', replayed, answered, current: key_hash !== null && key_hash === keyHash } },
    element('td', { className: 'number' }, clock(at_ms)),
    element('td', {}, element('code', {}, key_hash ?? '–')),
    element('td', { className: answered || status === null ? 'number' : 'number lost' }, status === null ? say('wire.unanswered') : String(status)),
    element('td', {}, ...notes.filter(Boolean).flatMap((mark) => [mark, ' '])),
  );
}
