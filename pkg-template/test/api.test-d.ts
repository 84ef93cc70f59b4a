import { IntentoError, openQueue, type ErrorCode, type Intent, type Queue, type Settled } from 'intento';
import { generic } from 'intento/contracts';

export async function checkout(): Promise<string> {
  const queue: Queue = await openQueue({
    scope: 'shopper-1',
    contract: generic,
    baseUrl: 'https://api.shop.example',
    authorize: async () => ({ scope: 'shopper-1', headers: { Authorization: 'Bearer x' } }),
  });
  const intent: Intent = await queue.submit({
    operation: 'authorize-payment',
    reference: 'order-842',
    request: { method: 'POST', url: '/payments', body: { amount: 15000, currency: 'BRL' } },
  });
  const now: Settled = await intent.settled({ within: 15_000 });
  switch (now.kind) {
    case 'succeeded':
      return `${now.answer.status} ${now.replay}`;
    case 'rejected':
      return now.evidence;
    case 'pending':
      return now.cause;
    case 'held':
      return now.remedy;
    default:
      return now.kind;
  }
}

export function explain(error: unknown): ErrorCode | null {
  return error instanceof IntentoError ? error.code : null;
}

// @ts-expect-error a contract must be chosen
void openQueue({ scope: 'a', baseUrl: 'https://api.shop.example' });

export async function others(queue: Queue, intent: Intent): Promise<void> {
  const form = new URLSearchParams({ amount: '1' });
  await queue.submit({ operation: 'pay', reference: null, request: { method: 'POST', url: '/', body: form } });
  await queue.submit({ operation: 'pay', reference: null, request: { method: 'POST', url: '/', body: new Uint8Array(3) } });
  await queue.submit({ operation: 'order', reference: null, lane: 'table-7', request: { method: 'POST', url: '/' } });
  const settled = await queue.fetch('/payments', { method: 'POST', operation: 'pay', reference: 'order-1', lane: 'table-7', body: { amount: 1 } });
  if (settled.kind === 'held' && settled.intent.lane !== null) (await intent.skip()) satisfies boolean;
  if (settled.kind === 'rejected' && settled.intent.safeToReplace) {
    const next: Intent = await intent.replace({ method: 'POST', url: '/payments', body: 1 }, { reason: 'declined' });
    void next.receipt.created;
  }
  await intent.abandon({ reason: 'left' });
  // @ts-expect-error a reason is required
  await intent.abandon();
}

export async function wrong(queue: Queue): Promise<void> {
  // @ts-expect-error a reference is required; null opts out
  await queue.submit({ operation: 'pay', request: { method: 'POST', url: '/payments' } });
  // @ts-expect-error reads are not intents
  await queue.submit({ operation: 'pay', reference: null, request: { method: 'GET', url: '/payments' } });
  // @ts-expect-error JSON has no dates
  await queue.submit({ operation: 'pay', reference: null, request: { method: 'POST', url: '/', body: { at: new Date() } } });
}
