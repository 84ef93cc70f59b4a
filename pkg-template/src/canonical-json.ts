import { appError } from './errors.js';

/** Deepest nesting; the engine's bound of the same name. */
const BODY_DEPTH_MAX = 64;

/** What is asked of a text beyond RFC 8785. */
export interface Reading {
  /** JSON pointers to members to leave out. */
  leftOut?: ReadonlySet<string>;
  /** Refuse integers beyond 2^53 - 1: what the app meant may be another number than the one JavaScript has kept. */
  exact?: boolean;
  /** A JSON pointer to a member that is not there yet: the engine puts the key in its place. */
  keyAt?: string;
  /** Sees each string and number, with its place and the name of the member it is, and each member's name, with the object's place. */
  look?: (value: string | number, at: string, name?: string) => void;
}

/** Stands for the key: the escape of a lone surrogate, which no text that is accepted holds. The engine knows it. */
const KEY_PLACE = String.raw`"\ud800"`;

/**
 * The canonical JSON of a value (RFC 8785): members sorted by UTF-16 code units, numbers and strings in the
 * platform's own spelling, which the RFC is defined by; every finite double has one. What JSON cannot carry is
 * refused, never dropped: `body_unstorable`, with the place as a JSON pointer.
 */
export function canonicalJson(value: unknown, reading: Reading = {}): string {
  const { leftOut = NOTHING, exact = false, keyAt = null, look } = reading;
  const place: Place = { above: new Set(), leftOut, exact, keyAt, look, placed: false };
  const text = write(value, '', place);
  if (keyAt !== null && !place.placed) throw misplaced(keyAt);
  return text;
}

const NOTHING: ReadonlySet<string> = new Set();

interface Place {
  /** The containers that this one is in. */
  above: Set<object>;
  leftOut: ReadonlySet<string>;
  exact: boolean;
  keyAt: string | null;
  look: Reading['look'];
  placed: boolean;
}

function write(value: unknown, at: string, place: Place, name = ''): string {
  switch (typeof value) {
    case 'string':
      if (!isWellFormed(value)) throw unstorable(at, 'a lone surrogate');
      place.look?.(value, at, name);
      return JSON.stringify(value);
    case 'boolean':
      return String(value);
    case 'number':
      place.look?.(value, at, name);
      return number(value, at, place.exact);
    case 'object':
      if (value === null) return 'null';
      return container(value, at, place);
    default:
      throw unstorable(at, `a ${typeof value}`);
  }
}

function number(value: number, at: string, exact: boolean): string {
  if (!Number.isFinite(value)) throw unstorable(at, String(value));
  if (exact && Number.isInteger(value) && !Number.isSafeInteger(value)) {
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
  const items = elements(value).map((item, index) => write(item, `${at}/${index}`, place));
  return `[${items.join(',')}]`;
}

/** Each once, by its index: neither a subclass's iterator nor what a prototype has in a hole's place. */
export function elements(list: readonly unknown[]): unknown[] {
  const items: unknown[] = [];
  for (let index = 0; index < list.length; index += 1) items.push(Object.hasOwn(list, index) ? list[index] : undefined);
  return items;
}

function object(value: object, at: string, place: Place): string {
  if (!isPlain(value)) throw unstorable(at, 'an object that is not plain');
  if (Object.hasOwn(value, 'toJSON') && typeof (value as { toJSON?: unknown }).toJSON === 'function') throw unstorable(at, 'an object with toJSON');
  const names = Object.keys(value).filter((name) => !place.leftOut.has(`${at}/${escape(name)}`));
  const key = keyHere(at, place);
  if (key !== null) {
    if (names.includes(key)) throw misplaced(`${at}/${key}`);
    names.push(key);
    place.placed = true;
  }
  const members = names
    .sort(byCodeUnits)
    .map((name) => {
      if (name === key) return `${JSON.stringify(name)}:${KEY_PLACE}`;
      if (!isWellFormed(name)) throw unstorable(at, 'a name with a lone surrogate');
      place.look?.(name, at);
      const member = (value as Record<string, unknown>)[name];
      return `${JSON.stringify(name)}:${write(member, `${at}/${escape(name)}`, place, name)}`;
    });
  return `{${members.join(',')}}`;
}

/** An object of another realm (an iframe) has a prototype of its own, whose own prototype is null. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The name under which the key stands in the object at `at`. */
function keyHere(at: string, { keyAt }: Place): string | null {
  const cut = keyAt?.lastIndexOf('/') ?? -1;
  if (keyAt === null || keyAt.slice(0, cut) !== at) return null;
  return keyAt.slice(cut + 1).replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Not `localeCompare`: RFC 8785 section 3.2.3 asks for UTF-16 code units, which is what `<` compares. */
function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** `isWellFormed` of ES2024, for the engines that lack it. */
export function isWellFormed(text: string): boolean {
  return !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text);
}

function escape(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function misplaced(pointer: string) {
  const remedy = 'Give the key its place: a JSON object without that member, under objects that are there.';
  return appError('key_place_invalid', remedy, pointer);
}

function unstorable(at: string, what: string) {
  const remedy = 'Pass a plain JSON value: finite numbers, integers up to 2^53 - 1, well-formed strings, no cycles.';
  return appError('body_unstorable', remedy, `${what} at ${at === '' ? 'the top' : at}`);
}
