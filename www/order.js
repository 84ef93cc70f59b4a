import { recall, remember } from './remember.js';

/** Prices in centavos. */
export const cart = [
  { name: 'item.coffee', quantity: 2, price: 4200 },
  { name: 'item.dripper', quantity: 1, price: 9600 },
  { name: 'item.filters', quantity: 1, price: 2400 },
];
export const delivery = 1800;
export const total = cart.reduce((sum, item) => sum + item.quantity * item.price, delivery);

const cards = [
  { token: 'tok_visa', brand: 'Visa', digits: '4242' },
  { token: 'tok_mastercard', brand: 'Mastercard', digits: '4444' },
];
const DECLINED_CARD = 'tok_declined';
const ORDER = 'order';
const CARD = 'card';

/** The order of the last visit, or a new one. Its id is the payment's reference: a reload finds the same intent. */
export function currentOrder() {
  const id = recall(ORDER);
  return /^order-\d{6}$/.test(id ?? '') ? { id, card: cards[recall(CARD) === '1' ? 1 : 0] } : newOrder(cards[0]);
}

export function newOrder(card = cards[0]) {
  const number = 100_000 + (crypto.getRandomValues(new Uint32Array(1))[0] % 900_000);
  const order = { id: `order-${number}`, card };
  remember(ORDER, order.id);
  remember(CARD, String(cards.indexOf(card)));
  return order;
}

export function otherCard(card) {
  return cards[(cards.indexOf(card) + 1) % cards.length];
}

/** The same order, paid with another card. */
export function withCard(order, card) {
  remember(CARD, String(cards.indexOf(card)));
  return { ...order, card };
}

/** What the server is asked to do. `decline` stands in for a bank that says no. */
export function paymentFor(order, { decline }) {
  const card = decline ? DECLINED_CARD : order.card.token;
  return { amount: total, currency: 'BRL', card, order: order.id };
}
