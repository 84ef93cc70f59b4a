import type { Answer, Cause, HeldReason, IntentSnapshot, Json, Settled } from './types.js';

/** What the engine knows, flat. */
export interface PlainSettled {
  kind: Settled['kind'];
  intent: IntentSnapshot;
  durable: boolean;
  answer: { status: number; mediaType: string | null; body: string | null; resource: string | null } | null;
  replay: 'fresh' | 'replayed' | 'unknown' | null;
  evidence: 'reply' | 'stored' | 'unstored' | 'reconciliation' | null;
  reason: HeldReason | null;
  remedy: string | null;
}

/** Gives it the shape of its kind. */
export function shape(plain: PlainSettled): Settled {
  const { kind, intent, durable } = plain;
  switch (kind) {
    case 'succeeded': {
      const evidence = plain.evidence === 'reconciliation' ? 'reconciliation' : 'reply';
      return { kind, answer: answer(plain), replay: plain.replay ?? 'unknown', evidence, durable, intent };
    }
    case 'rejected': {
      const evidence = plain.evidence === 'reply' || plain.evidence === null ? 'unstored' : plain.evidence;
      return { kind, answer: answer(plain), evidence, durable, intent };
    }
    case 'held':
      return { kind, reason: plain.reason ?? 'unresolved', remedy: plain.remedy ?? '', intent };
    case 'pending':
      return { kind, cause: intent.cause ?? ('not_sent' satisfies Cause), nextAttemptAt: intent.nextAttemptAt, intent };
    default:
      return { kind, durable, intent };
  }
}

/** The kept answer, its JSON read. An answer that was too large to keep has no body here. */
function answer(plain: PlainSettled): Answer {
  if (plain.answer === null) return { status: 0, mediaType: null, body: null, resource: null };
  const { status, mediaType, body, resource } = plain.answer;
  return { status, mediaType, body: body === null ? null : read(mediaType, body), resource };
}

function read(mediaType: string | null, body: string): Json {
  if (mediaType !== 'application/json' && !mediaType?.endsWith('+json')) return body;
  try {
    return JSON.parse(body) as Json;
  } catch {
    return body;
  }
}
