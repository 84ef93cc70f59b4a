import type { Contract } from './contract.js';
import { hasBroadcast, hasLocks, storage, type About } from './diagnostics.js';
import type { Line } from './line.js';
import type { PlainSettled } from './settled.js';
import type { Durability, DoctorFinding, HeldReason, IntentSnapshot } from './types.js';

/** How long an answer is waited for. */
const ASK_DEADLINE_MS = 10_000;
/** The share of the quota from which it is nearly full. */
const QUOTA_NEARLY = 0.9;
/** Clocks that are further apart are no network's delay. */
const CLOCK_APART_MS = 5 * 60_000;
/** How long an intent may wait for its first send, unless its submission says otherwise: the engine's bound of this name. */
const EXPIRES_IN_MS = 24 * 60 * 60_000;

type Level = DoctorFinding['level'];

/** Looks for what is wrong with a setup. Sends GET and HEAD, and nothing else. */
export async function examine(line: Line, about: About, durability: Durability): Promise<DoctorFinding[]> {
  const contract = JSON.parse(about.contractText ?? '{}') as Contract;
  const groups = await Promise.all([stored(durability, about.store !== null), platform(), reached(about, contract), promised(about, contract), held(line)]);
  return groups.flat();
}

function found(code: DoctorFinding['code'], level: Level, what: string, remedy: string | null = null): DoctorFinding {
  return { code, level, what, remedy };
}

async function stored(durability: Durability, own: boolean): Promise<DoctorFinding[]> {
  const safe = durability.startsWith('strong');
  const why = own ? "the app's own store says so" : safe ? 'IndexedDB works here' : 'IndexedDB is missing or refused here';
  const tier = found('tier', safe ? 'ok' : 'warning', `Intents are stored as ${durability}: ${why}.`, safe ? null : "Allow site data, or ask for more with minDurability and show another way to pay.");
  const browser = await storage();
  if (browser === null) return [tier];
  const { usage, quota, persisted } = browser;
  const remedy = 'Ask for navigator.storage.persist() after a gesture; an installed app gets it more easily.';
  const findings = [tier, persisted ? found('persistence', 'ok', 'The browser does not evict this storage by itself.') : found('persistence', 'warning', 'The browser may evict this storage when space gets scarce.', remedy)];
  if (usage !== null && quota !== null) {
    const full = usage >= quota * QUOTA_NEARLY;
    findings.push(found('quota', full ? 'warning' : 'ok', `${usage} of ${quota} bytes are used.`, full ? 'Remove what else this origin stores: a full store refuses new intents.' : null));
  }
  return findings;
}

function platform(): DoctorFinding[] {
  const there = (code: 'locks' | 'broadcast', is: boolean, name: string, without: string, remedy: string) => {
    return is ? found(code, 'ok', `There are ${name}.`) : found(code, 'warning', `There are no ${name}: ${without}`, remedy);
  };
  const controlled = (globalThis.navigator?.serviceWorker?.controller ?? null) !== null;
  return [
    there('locks', hasLocks(), 'Web Locks', 'tabs take turns by leases alone, and a tab that dies is waited for.', 'Serve the page over https.'),
    there('broadcast', hasBroadcast(), 'broadcast channels', 'other tabs see changes later.', 'Serve the page in a current browser.'),
    controlled
      ? found('service_worker', 'warning', 'A service worker controls this page, and may answer in the server\'s place.', 'Let its fetch handler pass the requests of intents through: return without respondWith.')
      : found('service_worker', 'ok', 'No service worker controls this page.'),
  ];
}

interface Asked {
  response: Response | null;
  /** The page's policy forbade it. */
  forbidden: boolean;
}

/** Never rejects: what cannot be had is what is asked about. */
async function ask(url: string, init: RequestInit): Promise<Asked> {
  let forbidden = false;
  const violated = ({ effectiveDirective }: SecurityPolicyViolationEvent) => void (forbidden ||= effectiveDirective === 'connect-src');
  globalThis.document?.addEventListener('securitypolicyviolation', violated);
  const controller = new AbortController();
  const deadline = setTimeout(() => controller.abort(), ASK_DEADLINE_MS);
  try {
    return { response: await fetch(url, { cache: 'no-store', credentials: 'omit', redirect: 'manual', signal: controller.signal, ...init }), forbidden };
  } catch {
    // The event comes in a task of its own.
    await new Promise((done) => setTimeout(done));
    return { response: null, forbidden };
  } finally {
    clearTimeout(deadline);
    globalThis.document?.removeEventListener('securitypolicyviolation', violated);
  }
}

async function reached(about: About, contract: Contract): Promise<DoctorFinding[]> {
  const base = new URL(about.baseUrl ?? '', globalThis.location?.href);
  const probe = about.probeUrl === null ? null : new URL(about.probeUrl, base);
  // What cannot be read may be there all the same. There, `fetch` knows no other redirects.
  const there = await ask(probe?.href ?? `${base.origin}/`, { method: probe === null ? 'HEAD' : 'GET', mode: 'no-cors', redirect: 'follow' });
  if (there.forbidden) {
    return [found('probe', 'error', `The Content-Security-Policy does not let this page reach ${(probe ?? base).origin}.`, 'Add that origin to connect-src.')];
  }
  const none = found('probe', 'warning', 'No probeUrl was given: whether the API is there, and what it allows, can hardly be told.', 'Pass probeUrl: a GET that has no effect and that CORS lets this page read.');
  if (there.response === null) {
    const online = globalThis.navigator?.onLine !== false;
    const remedy = online ? 'Look whether the server runs, and whether it forbids to be embedded (Cross-Origin-Resource-Policy).' : 'The device is offline: ask again when it is not.';
    return [found('reachable', online ? 'error' : 'warning', `${base.origin} does not answer.`, remedy), ...(probe === null ? [none] : [])];
  }
  const reachable = found('reachable', 'ok', `${base.origin} answers.`);
  if (probe === null) return [reachable, none];
  const { response } = await ask(probe.href, { mode: 'cors' });
  return [reachable, ...(response?.ok ? await readable(probe, response, about, contract) : [unreadable(response)])];
}

function unreadable(response: Response | null): DoctorFinding {
  if (response === null) {
    return found('probe', 'error', 'This page may not read what probeUrl answers.', "Let CORS name this page's origin there (Access-Control-Allow-Origin), and no Cross-Origin-Resource-Policy forbid it.");
  }
  const what = response.type === 'opaqueredirect' ? 'a redirect' : `status ${response.status}`;
  return found('probe', 'error', `probeUrl answers ${what}.`, 'Pass the URL of a GET that answers 200 without a redirect.');
}

async function readable(probe: URL, response: Response, about: About, contract: Contract): Promise<DoctorFinding[]> {
  const findings = [found('probe', 'ok', 'probeUrl can be read.')];
  const foreign = probe.origin !== globalThis.location?.origin;
  if (foreign) findings.push(await allowed(probe, about, contract));
  const date = Date.parse(response.headers.get('Date') ?? '');
  if (foreign) {
    const names = ['Date', 'Retry-After', contract.replay?.header, contract.echo?.header].filter((name) => name !== undefined).join(', ');
    const hidden = Number.isNaN(date);
    findings.push(hidden
      ? found('exposed_headers', 'warning', 'The Date of an answer cannot be read, so that others are hidden too, as far as can be told.', `Expose what the contract reads: Access-Control-Expose-Headers: ${names}.`)
      : found('exposed_headers', 'ok', 'The Date of an answer can be read.'));
  }
  if (!Number.isNaN(date)) {
    const apart = Date.now() - date;
    const far = Math.abs(apart) > CLOCK_APART_MS;
    findings.push(found('clock', far ? 'warning' : 'ok', `This clock and the server's are ${Math.abs(Math.round(apart / 1000))} s apart.`, far ? "Set the device's clock: times in lists are by it, though windows are measured by the server's." : null));
  }
  return findings;
}

/** A GET with the headers of an attempt makes the browser ask the same leave. */
async function allowed(probe: URL, { session, unboundCookies }: About, { carrier }: Contract): Promise<DoctorFinding> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  if (carrier.in === 'header') headers[carrier.name ?? ''] = 'doctor';
  if (carrier.firstSent) headers[carrier.firstSent] = 'doctor';
  if (session === 'cookie' && !unboundCookies) headers['Intento-Scope'] = 'doctor';
  const { response } = await ask(probe.href, { mode: 'cors', headers, credentials: session === 'cookie' ? 'include' : 'omit' });
  const names = Object.keys(headers).join(', ');
  if (response !== null) return found('key_header', 'ok', `Requests may carry ${names}.`);
  const cookies = session === 'cookie' ? ' Cookies need Access-Control-Allow-Credentials: true and an origin by its name.' : '';
  return found('key_header', 'error', `The server's preflight refuses requests with ${names}: no intent can leave.`, `Access-Control-Allow-Headers: ${names}.${cookies} Or carry the key elsewhere, if the contract can.`);
}

function promised({ session, unboundCookies }: About, { retentionMs }: Contract): DoctorFinding[] {
  const short = retentionMs < EXPIRES_IN_MS;
  const findings = [found('retention', short ? 'warning' : 'ok', `The server keeps a key for ${Math.round(retentionMs / 60_000)} min.`, short ? 'Repeats end with that window: pass a smaller expiresIn for what must not be sent late, and reconcile for what is held with window_closed.' : null)];
  if (session === 'cookie') {
    findings.push(found('cookies', unboundCookies ? 'warning' : 'ok', unboundCookies ? 'Cookies are sent, and nothing says whose intent it is.' : 'Cookies are sent with Intento-Scope.', unboundCookies ? 'Check Intento-Scope on the server, and leave unboundCookies out: another sign-in on this device sends this one\'s intents.' : null));
  }
  return findings;
}

async function held(line: Line): Promise<DoctorFinding[]> {
  const intents = ((await line.ask((raw) => raw.intents())) as IntentSnapshot[]).filter(({ state }) => state === 'held');
  const byReason = new Map<HeldReason | null, IntentSnapshot[]>();
  for (const intent of intents) byReason.set(intent.heldReason, [...(byReason.get(intent.heldReason) ?? []), intent]);
  if (byReason.size === 0) return [found('held', 'ok', 'No intent is held.')];
  return Promise.all([...byReason].map(async ([reason, [one, ...others]]) => {
    const { remedy } = (await line.ask((raw) => raw.settled(one?.id ?? '', 0))) as PlainSettled;
    return found('held', 'warning', `${others.length + 1} held: ${reason}.`, remedy);
  }));
}
