// The reference server's control desk. Payments do not go through here: the queue sends them.
const CONTROL_DEADLINE_MS = 3000;
const LOOPBACK = ['127.0.0.1', 'localhost'];

/** An error the checkout can put in words by its stable `code`. */
export class PageError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.code = code;
    this.remedy = '';
  }
}

/** The API's origin: `?api=`, or the port after the page's own. Only plain http on loopback is accepted. */
export function apiOrigin({ search, port }) {
  const given = new URLSearchParams(search).get('api');
  if (given === null) return `http://127.0.0.1:${Number(port || 80) + 1}`;
  const [, origin, host] = /^(http:\/\/([a-z0-9.]+)(?::\d{1,5})?)\/?$/.exec(given) ?? [];
  if (!LOOPBACK.includes(host)) throw new PageError('api_not_loopback', given);
  return origin;
}

/** Every call throws `PageError`: `unreachable`, or `closed` where the server runs without control. */
export function controlDesk(api) {
  return {
    state: () => call(`${api}/control/state`).then((answer) => answer.json()),
    faults: () => call(`${api}/control/faults`).then((answer) => answer.json()),
    setFaults: (faults) =>
      call(`${api}/control/faults`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(faults),
      }),
  };
}

async function call(url, init = {}) {
  const signal = AbortSignal.timeout(CONTROL_DEADLINE_MS);
  const answer = await fetch(url, { ...init, signal, cache: 'no-store', credentials: 'omit' }).catch((cause) => {
    throw new PageError('unreachable', url, { cause });
  });
  if (!answer.ok) throw new PageError(answer.status === 404 ? 'closed' : 'unreachable', `${url}: ${answer.status}`);
  return answer;
}
