// Phrases live in words/<language>.js, one file per language; only the one in use is loaded.
// The customer's words promise only what the snapshot proves.
import { recall, remember } from './remember.js';

export const languages = ['en', 'pt', 'es'];

const locales = { en: 'en-US', pt: 'pt-BR', es: 'es-419' };
const LANGUAGE = 'language';

let current;
let phrases;

await use(languages.includes(recall(LANGUAGE)) ? recall(LANGUAGE) : fromBrowser());

export function language() {
  return current;
}

/** The BCP 47 tag for `Intl`: the browser's own regional variant of the chosen language, if it has one. */
export function locale() {
  return navigator.languages.find((tag) => tag.slice(0, 2) === current && tag.length > 2) ?? locales[current];
}

/** Changes the language, for later visits too. */
export async function speak(chosen) {
  await use(chosen);
  remember(LANGUAGE, chosen);
}

export function knows(key) {
  return Object.hasOwn(phrases, key);
}

/** The phrase in the current language, `{name}` replaced from `values`. An unknown key shows its last part. */
export function say(key, values = {}) {
  const phrase = knows(key) ? phrases[key] : key.slice(key.lastIndexOf('.') + 1);
  return phrase.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** `say` for a count: picks `<key>.one` or `<key>.other`. */
export function sayCount(key, n) {
  return say(`${key}.${new Intl.PluralRules(locale()).select(n) === 'one' ? 'one' : 'other'}`, { n });
}

async function use(chosen) {
  phrases = (await import(`./words/${chosen}.js`)).default;
  current = chosen;
}

function fromBrowser() {
  const wanted = navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase());
  return wanted.find((tag) => languages.includes(tag)) ?? 'en';
}
