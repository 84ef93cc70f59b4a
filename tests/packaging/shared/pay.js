/**
 * A payment whose first answer is lost on the way, and how it ends. `api` is where it is taken; `options` go to `openQueue` too.
 */
export async function pay({ openQueue, generic, api, options = {} }) {
  const queue = await openQueue({ scope: 'shopper', contract: generic, baseUrl: api, ...options });
  const intent = await queue.submit({
    operation: 'authorize-payment',
    reference: 'order-842',
    request: { method: 'POST', url: '/payments', body: { amount: 15000, currency: 'BRL', card: 'tok_visa', order: 'order-842' } },
  });
  const settled = await intent.settled({ within: 60_000 });
  queue.close();
  return { settled, durability: queue.durability };
}

/** Pays, and says on the page what became of it, or what went wrong. */
export async function show(paying) {
  const told = await paying.catch((error) => ({ error: `${error?.stack ?? error}` }));
  document.documentElement.dataset.told = JSON.stringify(told);
}

export function apiOf(location) {
  return new URLSearchParams(location.search).get('api');
}
