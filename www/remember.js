// Small conveniences of this page (order number, language). Payments are never kept here: they are in the queue's ledger.
const PREFIX = 'intento-demo.';

/** The remembered string, or null where there is none or storage is refused. */
export function recall(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Storage refused: the page still works, only a reload starts another order.
  }
}
