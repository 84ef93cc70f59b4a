/** An answer. What had an effect, or is `stored`, is kept under the request's key and given again. */
export interface AnswerReply {
  /** Default 201. */
  status?: number;
  /** Beside the key, which an answer repeats that is kept. */
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. Default, where the status is 2xx: the number of the effect. */
  body?: unknown;
  /** Whether something is changed. Default: where the status is 2xx. */
  effect?: boolean;
  /** An answer without an effect that is kept all the same: a refusal for good. */
  stored?: boolean;
  /** Milliseconds between the effect and the answer. */
  delayMs?: number;
}

/** What is lost on the way: the request, which then has no effect, or the answer to it, which has come too late for that. */
export interface LostReply extends Omit<AnswerReply, 'effect' | 'stored'> {
  /** Which of the two. */
  lost: 'request' | 'answer';
}

/** What becomes of one request. */
export type Reply = AnswerReply | LostReply;

/** A request as the server saw it. */
export interface SeenRequest {
  /** In capitals. */
  method: string;
  /** Absolute. */
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** As text; empty where there is none. */
  body: string;
  /** The idempotency key; null where the request has none. */
  key: string | null;
}

/** A server in this very process: see {@link scriptedServer}. */
export interface ScriptedServer {
  /** In the place of the platform's `fetch`. */
  readonly fetch: typeof globalThis.fetch;
  /** Adds to the end of the script: what becomes of the next requests that are no repetition. After its end: 201, with an effect. */
  next(...replies: readonly Reply[]): void;
  /** How many times something was changed: what a test compares with 1. */
  readonly effects: number;
  /** Everything that arrived and carries a key or changes something, oldest first; probes are not among them. */
  readonly requests: readonly SeenRequest[];
  /** Makes it the page's `fetch`. What is returned puts the old one back. */
  install(): () => void;
}

/** The form of a queue's key on the wire, unless a contract says otherwise. */
const KEY_HEADER = 'Idempotency-Key';

interface Stored {
  status: number;
  headers: Record<string, string>;
  body: string | null;
  sent: string;
}

/**
 * A server in this very process, as far as a queue can tell: it follows a script, keeps the answers of what it has done under
 * the request's key and gives them again, marked `Idempotent-Replayed: true`; refuses the same key with another request
 * (422); answers 409 with `Retry-After` while the first request with a key is under way. `keyHeader` is where keys travel.
 */
export function scriptedServer({ script = [], keyHeader = KEY_HEADER }: { script?: readonly Reply[]; keyHeader?: string } = {}): ScriptedServer {
  const waiting = [...script];
  const requests: SeenRequest[] = [];
  const stored = new Map<string, Stored>();
  const underWay = new Set<string>();
  let effects = 0;

  async function answer(request: Request): Promise<Response> {
    const seen = await readRequest(request, keyHeader);
    if (seen.method === 'GET' || seen.method === 'HEAD' || seen.method === 'OPTIONS') return new Response(null, { status: 204 });
    const { key } = seen;
    const known = key === null ? undefined : stored.get(key);
    if (known !== undefined) {
      requests.push(seen);
      if (known.sent !== sent(seen)) return problem(422, 'payload-mismatch', 'This key belongs to another request.');
      return respond({ ...known, headers: { ...known.headers, 'Idempotent-Replayed': 'true' } });
    }
    if (key !== null && underWay.has(key)) {
      requests.push(seen);
      return problem(409, 'in-progress', 'The first request with this key is under way.', { 'Retry-After': '1' });
    }
    const reply = waiting.shift() ?? {};
    if ('lost' in reply && reply.lost === 'request') {
      await passed(reply.delayMs, request.signal);
      throw new TypeError('Failed to fetch');
    }
    requests.push(seen);
    if (key !== null) underWay.add(key);
    try {
      const made = await run(seen, reply);
      // An answer that nobody waits for is lost; its effect is not.
      await passed(reply.delayMs, request.signal);
      if ('lost' in reply) throw new TypeError('Failed to fetch');
      return respond(made);
    } finally {
      if (key !== null) underWay.delete(key);
    }
  }

  async function run(seen: SeenRequest, reply: Reply): Promise<Stored> {
    const status = reply.status ?? 201;
    const isSuccess = status >= 200 && status < 300;
    const hasEffect = ('effect' in reply ? reply.effect : undefined) ?? isSuccess;
    if (hasEffect) effects += 1;
    const value = reply.body === undefined && isSuccess ? { effect: effects } : reply.body;
    const keeps = seen.key !== null && (hasEffect || ('stored' in reply && reply.stored === true));
    const headers = {
      ...(value === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(keeps && seen.key !== null ? { [keyHeader]: seen.key } : {}),
      ...reply.headers,
    };
    const made = { status, headers, body: value === undefined ? null : JSON.stringify(value), sent: sent(seen) };
    if (keeps && seen.key !== null) stored.set(seen.key, made);
    return made;
  }

  const server: ScriptedServer = {
    fetch: async (input, init) => answer(new Request(input, init)),
    next: (...replies) => void waiting.push(...replies),
    get effects() {
      return effects;
    },
    get requests() {
      return [...requests];
    },
    install() {
      const platform = globalThis.fetch;
      globalThis.fetch = server.fetch;
      return () => {
        if (globalThis.fetch === server.fetch) globalThis.fetch = platform;
      };
    },
  };
  return server;
}

async function readRequest(request: Request, keyHeader: string): Promise<SeenRequest> {
  const { method, url } = request;
  const key = request.headers.get(keyHeader);
  return { method, url, headers: Object.fromEntries(request.headers), body: await request.text(), key };
}

/** What must be the same for a key to be given its answer again. */
function sent({ method, url, body }: SeenRequest): string {
  return JSON.stringify([method, url, body]);
}

function respond({ status, headers, body }: Stored): Response {
  return new Response(body, { status, headers });
}

function problem(status: number, type: string, title: string, headers: Record<string, string> = {}): Response {
  const init = { status, headers: { 'Content-Type': 'application/problem+json', ...headers } };
  return new Response(JSON.stringify({ type: `urn:intento:problem:${type}`, title, status }), init);
}

/** Waits so long; rejects at once if the request is given up meanwhile. */
function passed(delayMs: number | undefined, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    if (delayMs === undefined) return resolve();
    const given = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', given);
      resolve();
    }, delayMs);
    signal.addEventListener('abort', given, { once: true });
  });
}
