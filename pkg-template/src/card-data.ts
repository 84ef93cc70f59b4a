import { appError } from './errors.js';

/**
 * Card numbers by issuer range (ISO/IEC 7812) and the lengths that are issued in it: Visa; Mastercard; American Express; Diners
 * Club; JCB; Discover, UnionPay and Elo; RuPay and Hipercard; Maestro; Elo, Verve and RuPay; Mir; Troy; Naranja. Most numbers that
 * pass Luhn's check by chance, one in ten, are none of these.
 */
const ISSUED = new RegExp(`^(?:${[
  String.raw`4(?:\d{12}|\d{15}|\d{18})`,
  String.raw`(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}`,
  String.raw`3[47]\d{13}`,
  String.raw`3(?:0[0-5]\d|095|[689]\d\d)\d{10,15}`,
  String.raw`35(?:2[89]|[3-8]\d)\d{12,15}`,
  String.raw`6(?:011|2\d\d|4[4-9]\d|5\d\d)\d{12,15}`,
  String.raw`(?:60|8[12])\d{14}`,
  String.raw`(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{9,15}`,
  String.raw`(?:504175|50[689]\d{3}|636297|636368|589562)\d{10}`,
  String.raw`220[0-4]\d{12,15}`,
  String.raw`9792\d{12}`,
].join('|')})$`);

/**
 * Digits in one piece, or in the groups in which cards show them. Not part of a word or a decimal fraction (`tok_4242..`, a hash,
 * an IBAN, `0.4242..`), and not the rest of an IBAN in groups of four. The lookahead finds those that overlap.
 */
const NUMBERS = new RegExp(
  String.raw`(?<!\w|\d\.)(?=(\d{13,19}|\d{4}([ \xa0-])\d{4}\2\d{4}\2\d{4}(?:\2\d{3}(?!\w))?|\d{4}([ \xa0-])\d{6}\3\d{4,5}|\d{6}[ \xa0-]\d{13})(?!\w))(?<!\b[A-Z]{2}\d\d (?:[A-Z0-9]{4} ){0,7})`,
  'g',
);

/** Shorter numbers are cards only where something says so: phones, articles (EAN-13, GTIN-14) and firms (CNPJ) have as many digits. */
const CERTAIN_LENGTH = 15;
const SAYS_CARD = /card|tarjeta|cart[a\u00e3]o|karte|credit|debit|\bpan\b/i;

const CODE = String.raw`(?:card|cc)?[_ -]?(?:cv[vcnd]2?|csc)[_ -]?(?:code|number|value)?|(?:card)?[_ -]?security[_ -]?code|card[_ -]?verification[_ -]?(?:value|code|number)?|c[o\u00f3]digo[_ -]?(?:de[_ -]?)?seguran[c\u00e7]a|c[o\u00f3]digo[_ -]?(?:de[_ -]?)?seguridad`;
const IS_CODE = new RegExp(`^(?:${CODE})$`, 'i');
/** In text of any notation: a form, JSON (escaped too), XML. */
const HAS_CODE = new RegExp(String.raw`(?<![a-z\d])(?:${CODE})[\\"'\]]*\s*[:=>]\s*[\\"']*\d{3,4}(?!\w)`, 'i');

/** Refuses, with the place and never the value, what looks like card data: `card_data`. */
export class CardData {
  /** It looked like card data, and was let through. */
  found = false;
  readonly #allowed: boolean;

  constructor(allowed: boolean) {
    this.#allowed = allowed;
  }

  /** `at` is the place, a JSON pointer in a body; `name` is what the value is called there. */
  readonly look = (value: string | number, at: string, name = ''): void => {
    const text = String(value);
    if (!isSecurityCode(name, text) && !isCardData(text, at) && !isCardData(decoded(text), at)) return;
    if (!this.#allowed) throw refused(at);
    this.found = true;
  };

  /** A form's pairs; `card[cvc]` is a `cvc`. */
  form(pairs: URLSearchParams): void {
    for (const [name, value] of URLSearchParams.prototype.entries.call(pairs)) {
      this.look(name, 'body');
      this.look(value, `/${name}`, name.split(/[.[\]/]+/).filter((part) => part !== '').pop());
    }
  }
}

function isSecurityCode(name: string, text: string): boolean {
  return IS_CODE.test(name) && /^\s*\d{3,4}\s*$/.test(text);
}

function isCardData(text: string, at: string): boolean {
  if (HAS_CODE.test(text)) return true;
  for (const [, number = ''] of text.matchAll(NUMBERS)) {
    const digits = number.replace(/\D/g, '');
    // What follows four groups may be the security code.
    const readings = digits === number ? [digits] : [digits, digits.slice(0, 16)];
    if (readings.some((card) => isCard(card) && (card.length >= CERTAIN_LENGTH || SAYS_CARD.test(at) || SAYS_CARD.test(text)))) return true;
  }
  return false;
}

function isCard(digits: string): boolean {
  return ISSUED.test(digits) && luhn(digits);
}

/** ISO/IEC 7812-1, annex B. */
function luhn(digits: string): boolean {
  let sum = 0;
  for (let place = 1; place <= digits.length; place += 1) {
    const digit = Number(digits[digits.length - place]);
    const doubled = place % 2 === 0 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** As a URL or a form means it; what is no escape stands for itself. */
function decoded(text: string): string {
  return text.replaceAll('+', ' ').replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

function refused(at: string) {
  const remedy = 'Tokenise the card with your payment provider, and send the token; if this is no card data, list the operation in allowCardData.';
  return appError('card_data', remedy, at);
}
