// Small conveniences of this page (order number, language). Payments are never kept here: they are in the queue's ledger.
const PREFIX = 'intento-demo.';

/** What lasts as long as the tab. */
export const forThisTab = 'sessionStorage';

/** The remembered string, or null where there is none or storage is refused. */
export function recall(name, storage = 'localStorage') {
  return within(storage, (it) => it.getItem(PREFIX + name)) ?? null;
}

/** `null` forgets. Where storage is refused the page still works, only a reload starts another order. */
export function remember(name, value, storage = 'localStorage') {
  within(storage, (it) => (value === null ? it.removeItem(PREFIX + name) : it.setItem(PREFIX + name, value)));
}

function within(storage, use) {
  try {
    return use(globalThis[storage]);
  } catch {
    return undefined;
  }
}
