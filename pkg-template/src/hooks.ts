import { canonicalJson } from './canonical-json.js';
import { headerPairs, own } from './plain.js';
import type { Finding, Outgoing, Prepared } from './types.js';

/** A request as the engine hands it over. */
export interface PlainOutgoing {
  attempt: number;
  method: string;
  url: string;
  headers: [string, string][];
  text: string | null;
  bytes: Uint8Array | null;
}

export interface PlainAnswer {
  status: number;
  mediaType: string | null;
  body: string | null;
}

export function outgoing(plain: PlainOutgoing): Outgoing {
  const { attempt, method, url, headers, text, bytes } = plain;
  return { attempt, method, url, headers: Object.fromEntries(headers), body: text ?? bytes };
}

export function plainPrepared(prepared: Prepared): object {
  const [headers, body] = [own(prepared, 'headers'), own(prepared, 'body')];
  const text = typeof body === 'string' ? body : null;
  const plain = canonicalJson({ headers: headerPairs(headers), text });
  return { plain, bytes: body instanceof Uint8Array ? body.slice() : null };
}

/** Only what is sealed is `not_applied`: anything less could still happen. */
export function plainFound(found: Finding): string {
  return canonicalJson(finding(found));
}

function finding(found: Finding): object {
  switch (own(found, 'kind')) {
    case 'applied': {
      const response = own(found as Finding & { kind: 'applied' }, 'response');
      if (response === undefined) return { finding: 'applied', answer: null };
      const value = own(response, 'body');
      const body = value === undefined ? null : JSON.stringify(value);
      return { finding: 'applied', answer: { status: own(response, 'status'), mediaType: 'application/json', body } };
    }
    case 'not_applied': {
      const sealed = own(found as Finding & { kind: 'not_applied' }, 'sealed');
      return { finding: sealed === true ? 'not_applied' : 'not_found', answer: null };
    }
    case 'not_found':
      return { finding: 'not_found', answer: null };
    default:
      return { finding: 'unknown', answer: null };
  }
}
