// What must not compile, beside the example, which must.
import type { Queue } from 'intento';
import { IntentoProvider, useIntent, useSubmit } from 'intento/react';

declare const queue: Queue;

export function Wrong() {
  const payment = useIntent({ operation: 'authorize-payment', reference: 'order-842' });
  const { submit } = useSubmit();
  // @ts-expect-error: nothing was submitted, perhaps
  payment.intent.cancel();
  if (payment.status === 'held') void payment.intent.resume();
  // @ts-expect-error: there is no such state
  if (payment.status === 'pending') return null;
  // @ts-expect-error: an intent is found by its reference
  useIntent({ operation: 'authorize-payment', reference: null });
  // @ts-expect-error: a decision needs a reference, or null
  void submit({ operation: 'authorize-payment', request: { method: 'POST', url: '/payments' } });
  // @ts-expect-error: one of the two
  const both = <IntentoProvider open={() => queue} queue={queue} />;
  // @ts-expect-error: neither
  const neither = <IntentoProvider />;
  return [both, neither, <IntentoProvider queue={Promise.resolve(queue)}>fine</IntentoProvider>];
}
