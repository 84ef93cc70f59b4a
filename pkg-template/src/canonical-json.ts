import { appError } from './errors.js';

/** Deepest nesting; the engine's bound of the same name. */
const BODY_DEPTH_MAX = 64;

/**
 * The canonical JSON of a value (RFC 8785): members sorted by UTF-16 code units, numbers and strings in the
 * platform's own spelling, which the RFC is defined by. What JSON cannot carry exactly is refused, never rounded
 * or dropped: `body_unstorable`, with the place as a JSON pointer. `leftOut` are pointers to members to leave out.
 */
export function canonicalJson(value: unknown, leftOut: ReadonlySet<string> = NOTHING): string {
  return write(value, '', { above: new Set(), leftOut });
}

const NOTHING: ReadonlySet<string> = new Set();

interface Place {
  /** The containers that this one is in. */
  above: Set<object>;
  leftOut: ReadonlySet<string>;
}

function write(value: unknown, at: string, place: Place): string {
  switch (typeof value) {
    case 'string':
      if (!isWellFormed(value)) throw unstorable(at, 'a lone surrogate');
      return JSON.stringify(value);
    case 'boolean':
      return String(value);
    case 'number':
      return number(value, at);
    case 'object':
      if (value === null) return 'null';
      return container(value, at, place);
    default:
      throw unstorable(at, `a ${typeof value}`);
  }
}

function number(value: number, at: string): string {
  if (!Number.isFinite(value)) throw unstorable(at, String(value));
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw unstorable(at, 'an integer beyond 2^53 - 1; pass it as a string');
  }
  return JSON.stringify(value);
}

function container(value: object, at: string, place: Place): string {
  const { above } = place;
  if (above.has(value)) throw unstorable(at, 'a cycle');
  if (above.size >= BODY_DEPTH_MAX) throw unstorable(at, `more than ${BODY_DEPTH_MAX} levels`);
  above.add(value);
  const text = Array.isArray(value) ? array(value, at, place) : object(value, at, place);
  above.delete(value);
  return text;
}

function array(value: unknown[], at: string, place: Place): string {
  // Not `map`: it passes over holes.
  const items = Array.from(value, (item, index) => write(item, `${at}/${index}`, place));
  return `[${items.join(',')}]`;
}

function object(value: object, at: string, place: Place): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object of another realm (an iframe) has a prototype of its own, whose own prototype is null.
  const plain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!plain) throw unstorable(at, 'an object that is not plain');
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') throw unstorable(at, 'an object with toJSON');
  const members = Object.keys(value)
    .filter((name) => !place.leftOut.has(`${at}/${escape(name)}`))
    .sort(byCodeUnits)
    .map((name) => {
      if (!isWellFormed(name)) throw unstorable(at, 'a name with a lone surrogate');
      const member = (value as Record<string, unknown>)[name];
      return `${JSON.stringify(name)}:${write(member, `${at}/${escape(name)}`, place)}`;
    });
  return `{${members.join(',')}}`;
}

/** Not `localeCompare`: RFC 8785 section 3.2.3 asks for UTF-16 code units, which is what `<` compares. */
function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** `isWellFormed` of ES2024, for the engines that lack it. */
function isWellFormed(text: string): boolean {
  return !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text);
}

function escape(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unstorable(at: string, what: string) {
  const remedy = 'Pass a plain JSON value: finite numbers, integers up to 2^53 - 1, well-formed strings, no cycles.';
  return appError('body_unstorable', remedy, `${what} at ${at === '' ? 'the top' : at}`);
}
