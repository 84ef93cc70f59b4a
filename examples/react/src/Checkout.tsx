import { useIntent, useIntents, useSubmit, type IntentState } from 'intento/react';
import type { Submission } from 'intento';
import { useEffect } from 'react';

const OPERATION = 'authorize-payment';

interface Props {
  order: string;
  /** The customer comes back from a wallet's page, and has confirmed there. */
  approved: boolean;
}

export function Checkout({ order, approved }: Props) {
  const payment = useIntent({ operation: OPERATION, reference: order });
  const { submit, pending, error } = useSubmit();

  useEffect(() => {
    // Run twice by StrictMode, and once more after each reload: the reference makes it one decision.
    if (approved) submit(paymentOf(order)).catch(() => {});
  }, [approved, order, submit]);

  const open = payment.status === 'absent' && !pending;
  return (
    <main>
      <h1>{order}</h1>
      <button disabled={!open} onClick={() => submit(paymentOf(order)).catch(() => {})}>
        Pay R$ 150.00
      </button>
      <p role="status">{error === null ? words(payment) : 'Could not be stored: nothing was charged.'}</p>
      <History />
    </main>
  );
}

function History() {
  const { intents } = useIntents();
  return (
    <ol>
      {intents.map(({ id, reference, state }) => (
        <li key={id}>
          {reference} {state}
        </li>
      ))}
    </ol>
  );
}

function words({ status, snapshot }: IntentState): string {
  switch (status) {
    case 'opening':
      return '…';
    case 'failed':
      return 'This browser cannot keep your order safe: please pay another way.';
    case 'absent':
      return 'Not paid yet.';
    case 'unfinished':
      return 'Not confirmed yet. It goes on by itself.';
    case 'held':
      return 'We are looking into it. You will not be charged twice.';
    case 'ended':
      return snapshot.state === 'succeeded' ? 'Paid. Thank you!' : 'Not paid: please try another card.';
  }
}

function paymentOf(order: string): Submission {
  const body = { amount: 15_000, currency: 'BRL', card: 'tok_visa', order };
  return { operation: OPERATION, reference: order, request: { method: 'POST', url: '/payments', body } };
}
