// From what is known of a payment to what a customer may be told.

/** A stored payment that has not left after this long is told as unreachable, not as being sent. */
const PATIENCE_MS = 1500;

/** The `status.*` phrase of a snapshot; `null` is an order without a payment. Of a send older than this page, nothing is known. */
export function standing(snapshot, { online, now, loadedAt }) {
  switch (snapshot?.state) {
    case undefined:
      return 'idle';
    case 'queued':
    case 'waiting':
      if (snapshot.maybeSent) return 'unknown';
      if (!online) return 'offline';
      return now - snapshot.createdAt > PATIENCE_MS ? 'unreachable' : 'sending';
    case 'sending':
      return snapshot.attempts.some((attempt) => leftBefore(attempt) || attempt.startedAt < loadedAt) ? 'unknown' : 'sending';
    case 'accepted':
      return 'accepted';
    case 'held':
      return snapshot.heldReason === 'auth' ? 'sign-in' : 'ask-us';
    case 'succeeded':
      return 'paid';
    case 'rejected':
      if (!snapshot.safeToReplace) return 'ask-us';
      return snapshot.attempts.at(-1)?.status === 402 ? 'declined' : 'refused';
    case 'not_applied':
      return 'not-applied';
    case 'cancelled':
    case 'expired':
      return snapshot.state;
    default:
      return 'ask-us';
  }
}

export function canCancel(snapshot) {
  return snapshot?.state === 'queued' && !snapshot.maybeSent;
}

export function canUseAnotherCard(snapshot) {
  return snapshot?.state === 'rejected' && snapshot.safeToReplace;
}

/** Going on is up to the person: what held it may be mended, or the shop may know by now. */
export function canResume(snapshot) {
  return snapshot?.state === 'held';
}

/** Whole seconds, rounded up; 0 where nothing is planned or it is due. */
export function secondsUntil(at, now) {
  return at === null ? 0 : Math.max(0, Math.ceil((at - now) / 1000));
}

export function isUnfinished(snapshot) {
  return ['queued', 'sending', 'waiting', 'accepted'].includes(snapshot.state);
}

/** A send in the air. One without an answer that is not, was cut short with its page. */
export function isLive(attempt, { state, attempts }) {
  return state === 'sending' && attempt === attempts.at(-1);
}

function leftBefore(attempt) {
  return attempt.result !== 'open' && attempt.result !== 'not_sent';
}
