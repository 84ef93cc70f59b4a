import { element, part, shape, write } from './dom.js';
import { money } from './format.js';
import { cart, currentOrder, delivery, newOrder, otherCard, paymentFor, total, withCard } from './order.js';
import { canCancel, canResume, canUseAnotherCard, secondsUntil, standing } from './status.js';
import { knows, say } from './words.js';

/** Standings in which the pay button offers a payment, and those in which it stays to tell what is going on. */
const OFFERS = ['opening', 'idle', 'failed'];
const TELLS = ['sending', 'unknown', 'accepted', 'offline', 'unreachable'];

/**
 * The shop's half of the page. `open(payments)` brings it to life, `fail(error)` says why it can't;
 * `faults` is asked for, and told to stop, declining the card and the sign-in; `isOnline()` says whether the shop can be reached at all;
 * `orderChanged()` runs after a new order.
 */
export function createCheckout({ faults, isOnline, orderChanged }) {
  let payments = null;
  let markOpen;
  const opening = new Promise((resolve) => (markOpen = resolve));
  let order = currentOrder();
  let saving = false;
  let failure = null;
  let settled = null;
  let note = null;

  const [pay, cancel, anotherCard, resume, fresh] = ['pay', 'cancel', 'another-card', 'resume', 'new-order'].map(part);
  pay.addEventListener('click', confirm);
  cancel.addEventListener('click', withdraw);
  anotherCard.addEventListener('click', useAnotherCard);
  resume.addEventListener('click', goOn);
  fresh.addEventListener('click', () => {
    start(newOrder(order.card));
    pay.focus();
  });

  function start(next) {
    order = next;
    saving = false;
    settled = note = null;
    if (payments) failure = null;
    render();
    orderChanged();
  }


  // A click while the queue opens is kept. A second click before the receipt goes through on purpose:
  // same reference, same intent.
  async function confirm() {
    if (snapshot() !== null || (failure && !payments)) return;
    await follow(async () => {
      await opening;
      if (payments.forOrder(order) !== null) return null;
      return payments.pay(order, paymentFor(order, { decline: faults.declines() }));
    });
  }

  // The same order and reference: the queue links the new payment to the declined one, and makes one only, from any tab.
  async function useAnotherCard() {
    if (saving) return;
    const declined = snapshot();
    order = withCard(order, otherCard(order.card));
    await faults.set('decline', false);
    await follow(() => payments.replace(declined, paymentFor(order, { decline: false })));
  }

  // The demo's sign-in is the switch that asked for it.
  async function goOn() {
    if (saving) return;
    const held = snapshot();
    await faults.set('unauthorized', false);
    await follow(() => payments.resume(held));
  }

  /** Runs `act`, which may answer with what settled, and shows what it comes to if the order is still the same. */
  async function follow(act) {
    const { id } = order;
    const update = (change) => {
      if (order.id === id) change();
      render();
    };
    update(() => {
      saving = true;
      failure = settled = note = null;
    });
    try {
      const answer = await act();
      update(() => (settled = answer));
    } catch (error) {
      update(() => (failure = error));
    } finally {
      update(() => (saving = false));
    }
  }

  async function withdraw() {
    try {
      note = (await payments.cancel(snapshot())) ? null : 'detail.too-late';
    } catch (error) {
      failure = error;
    }
    render();
  }

  function snapshot() {
    return payments?.forOrder(order) ?? null;
  }

  function render() {
    const known = snapshot();
    const now = Date.now();
    const reached = payments ? standing(known, { online: isOnline(), now, loadedAt: performance.timeOrigin }) : 'opening';
    const told = failure ? 'failed' : reached;
    renderStatus(told, known);
    write(part('detail'), (failure ? reasons(reached, known) : details(told, known, now)).join(' '));
    renderActions(told, known);
    write(part('order'), say('order', { n: order.id.slice('order-'.length) }));
    write(part('card-brand'), order.card.brand);
    write(part('card-digits'), `•••• ${order.card.digits}`);
    write(part('card-spoken'), say('card-ending', order.card));
  }

  function renderStatus(told, known) {
    const status = part('status');
    status.dataset.state = failure ? 'error' : (known?.state ?? told);
    status.dataset.standing = told;
    if (failure) status.dataset.code = failure.code ?? 'unexpected';
    else delete status.dataset.code;
    const own = `status.failed.${failure?.code}`;
    write(status, say(knows(own) ? own : `status.${told}`));
  }

  function reasons(reached, known) {
    return [failure.message, failure.remedy, known && say(`status.${reached}`)].filter(Boolean);
  }

  function details(told, known, now) {
    const lines = note ? [say(note)] : [];
    if (told === 'paid') lines.push(...receipt(known));
    if (settled?.durable === false) lines.push(say('detail.not-durable'));
    if (known?.heldReason) lines.push(say(`held.${known.heldReason}`));
    if (told === 'unknown' || told === 'sending') lines.push(...progress(known, now));
    return lines;
  }

  function receipt(known) {
    const paid = say('detail.paid', { total: money(total), card: `${order.card.brand} •••• ${order.card.digits}` });
    const id = settled?.answer?.body?.id;
    const replayed = known.attempts.some((attempt) => attempt.replayed);
    return [paid, id && say('detail.receipt', { id }), replayed && say('detail.replayed')].filter(Boolean);
  }

  function renderActions(told, known) {
    const focused = document.activeElement;
    const offers = OFFERS.includes(told) && known === null;
    const busy = saving && known === null;
    pay.hidden = !offers && !TELLS.includes(told);
    pay.setAttribute('aria-disabled', String(!offers || busy || (failure !== null && !payments)));
    write(pay, offers ? (busy ? say('pay.saving') : `${say('pay')} · ${money(total)}`) : say(`pay.${told}`));
    cancel.hidden = !canCancel(known) || told === 'sending';
    anotherCard.hidden = !canUseAnotherCard(known);
    if (!saving) write(anotherCard, say('another-card', otherCard(order.card)));
    resume.hidden = !canResume(known);
    write(resume, say(known?.heldReason === 'auth' ? 'resume.auth' : 'resume'));
    fresh.classList.toggle('primary', ['refused', 'not-applied', 'cancelled', 'expired'].includes(told) && anotherCard.hidden);
    if (focused?.hidden) [anotherCard, resume, pay, fresh].find((button) => !button.hidden).focus();
  }

  render();
  return {
    order: () => order,
    snapshot,
    render,
    /** Starts another order with the same card, unless this one has no payment yet. */
    fresh() {
      if (snapshot() !== null || saving) start(newOrder(order.card));
    },
    pay: () => pay.click(),
    open(queue) {
      payments = queue;
      markOpen();
      render();
    },
    fail(error) {
      failure = error;
      render();
    },
  };
}

/** Fills in the cart, once and again after a change of language. */
export function renderCart() {
  const row = (name, quantity, price) =>
    element(
      'li',
      {},
      shape('svg', { class: 'icon', 'aria-hidden': 'true' }, shape('use', { href: `#${name}` })),
      element('span', {}, say(name), quantity > 1 ? element('span', { className: 'quiet number' }, ` × ${quantity}`) : null),
      element('span', { className: 'number' }, money(price * quantity)),
    );
  part('cart').replaceChildren(...cart.map(({ name, quantity, price }) => row(name, quantity, price)), row('delivery', 1, delivery));
  write(part('total'), money(total));
}

function progress({ attemptCount, state, nextAttemptAt }, now) {
  const left = state === 'waiting' ? secondsUntil(nextAttemptAt, now) : 0;
  return [
    attemptCount > 0 && `${say('detail.attempt', { n: attemptCount })}.`,
    left > 0 && `${say('next-in', { s: left })}.`,
  ].filter(Boolean);
}
