import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const installed = dirname(createRequire(import.meta.url).resolve('intento/package.json'));
const { plainSubmission } = await import(pathToFileURL(join(installed, 'plain.js')).href);

/** The numbers that issuers and providers publish for tests. */
const NUMBERS = {
  visa: '4242424242424242',
  'visa, of another provider': '4111111111111111',
  'visa, 19 digits': '4000000000000000006',
  mastercard: '5555555555554444',
  'mastercard, 2-series': '2223003122003222',
  amex: '378282246310005',
  'diners, 14 digits': '30569309025904',
  'diners, 16 digits': '3056930009020004',
  discover: '6011111111111117',
  jcb: '3566002020360505',
  unionpay: '6200000000000005',
  'unionpay, 19 digits': '6205500000000000004',
  maestro: '6759649826438453',
  elo: '6362970000457013',
  hipercard: '6062826786276634',
  mir: '2200000000000004',
};

const grouped = (number) => number.replace(/(.{4})(?=.)/g, '$1 ');

/** What is refused, and where it says that it is. */
const REFUSED = [
  ...Object.entries(NUMBERS).map(([what, number]) => [what, { card: { number } }, '/card/number']),
  ...['visa', 'mastercard', 'discover', 'visa, 19 digits'].map((what) => [`${what}, in groups`, { note: `it is ${grouped(NUMBERS[what])}.` }, '/note']),
  ['hyphens', { a: [{ b: '4242-4242-4242-4242' }] }, '/a/0/b'],
  ['no-break spaces', { n: '4242\u00a04242\u00a04242\u00a04242' }, '/n'],
  ['amex in groups', { n: '3782 822463 10005' }, '/n'],
  ['diners in groups', { card: '3056 930902 5904' }, '/card'],
  ['unionpay in groups', { n: '620550 0000000000004' }, '/n'],
  ['a number of JSON', { pan: 4242424242424242 }, '/pan'],
  ['other digits before it', { n: '0012 4242 4242 4242 4242' }, '/n'],
  ['the code after it', { n: '4242 4242 4242 4242 123' }, '/n'],
  ['the code after it, in one piece', { n: '4242424242424242 123' }, '/n'],
  ['a body that is a string', '4242424242424242', 'body'],
  ['a body that is a number', 4242424242424242, 'body'],
  ['a body that is a list', ['x', '4242424242424242'], '/1'],
  ['a member\'s name', { tokens: { '4242424242424242': 'tok_1' } }, '/tokens'],
  ['text that is JSON', '{"card":{"number":"4242424242424242"}}', 'body'],
  ['JSON in JSON', { payload: JSON.stringify({ cvv: '123' }) }, '/payload'],
  ['JSON in JSON in JSON', { payload: JSON.stringify(JSON.stringify({ cvv: '123' })) }, '/payload'],
  ['text that is XML', '<card><cvv>123</cvv></card>', 'body'],
  ['text that is a form', 'card%5Bnumber%5D=4242+4242+4242+4242', 'body'],
  ['text that is a form with a code', 'card%5Bcvc%5D=123', 'body'],
  ['13 digits under a card', { card: '4222222222222' }, '/card'],
  ['13 digits in text about a card', 'card 4222222222222', 'body'],
  ['a pair of a form', new URLSearchParams({ amount: '5', 'card[number]': '4242424242424242' }), '/card[number]'],
  ['a code in a form', new URLSearchParams({ 'payment_method[card][cvc]': '123' }), '/payment_method[card][cvc]'],
  ['a name in a form', new URLSearchParams({ '4242424242424242': '' }), 'body'],
  ...['cvv', 'CVV2', 'cvc', 'cvc2', 'csc', 'cvn', 'cvd', 'security_code', 'securityCode', 'card_cvc', 'cardCvv', 'cvv_code', 'card-security-code',
    'card_verification_value', 'cardVerificationCode', 'codigo_de_seguranca', 'código_seguridad'].map((name) => [name, { card: { [name]: '123' } }, `/card/${name}`]),
  ['a code of four digits', { cvv: '1234' }, '/cvv'],
  ['a code that is a number', { cvv: 123 }, '/cvv'],
];

/** What travels. Where it looks like a card number, the comment says why it is none. */
const PASSES = [
  ['an amount and a currency', { amount: 15_000, currency: 'BRL' }],
  // Glued to a word, digits are a name: what a provider's vault gave out, or a fake of it.
  ['a token', { card: 'tok_4242424242424242', other: 'card_4242424242424242x' }],
  ['the last four digits', { card: { last4: '4242', masked: '4242 **** **** 4242' } }],
  ['no issuer\'s range', { n: '1000000000000008', m: '9111111111111110' }],
  ['no check digit', { n: '4242424242424241' }],
  ['a length that is not issued', { n: '42424242424242' , m: '55555555555544440' }],
  ['20 digits', { n: '42424242424242420000' }],
  // Luhn-valid, and 4 is Visa's range, as 40 to 44 are Germany's articles: 13 digits need a word that says card.
  ['EAN-13', { ean: '4006381333931', list: ['4000417025005', '4000000000006'], number: 4000000000006 }],
  ['GTIN-14', { gtin: '36000291452451', list: ['30000000000004'] }],
  ['ISBN-13', { isbn: '9783161484100' }],
  ['milliseconds', { at: 1796094900000, text: '1796094900007' }],
  ['microseconds', { at: 1796094900000000, text: '1796094900000003' }],
  ['nanoseconds', { text: '1796094900000000005' }],
  ['UUIDs', ['4242424242-4242', '41111111-1111-4111-8111-111111111111', '42424242-4242-4242-4242-424242424242']],
  ['IBANs', ['DE89370400440532013000', 'GB29NWBK60161331926819', 'NO9386011117947', 'BE68539007547034', 'DE89 3704 0044 0532 0130 00', 'DE12 4242 4242 4242 4242 00', 'FR1420041010050500013M02606']],
  ['Pix end-to-end ids', ['E12345678202009091221abcdef12345', 'E42424242424242424242abcdefghijk']],
  ['boleto lines', ['34191790010104351004791020150008584410026000000', '34191.79001 01043.510047 91020.150008 5 84410026000000', '846700000017435900240209024050002435842210108119']],
  ['phones', ['+4915112345678', '4915112345678', '+55 11 91234-5678', '(11) 91234-5678', '5511912345678']],
  // Brazil's firms have 14 digits, as Diners Club's cards do.
  ['CNPJ', ['36000000000008', '11.222.333/0001-81']],
  ['IMEI', '490154203237518'],
  ['ICCID', '8955170220100000003'],
  ['fractions', { share: 0.4242424242424242, text: '0.4242424242424242', where: '-23.4242424242424242' }],
  ['hashes', { sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', git: 'a4242424242424242b' }],
  ['an order', { order: 'order-842', number: '2026-0001-0042-0007' }],
  // These are asked for by other doors than a card's.
  ['other codes', { otp: '1234', pin: '1234', verification_code: '1234', zip: '1234', code: '123', cid: '123' }],
  ['a code that is none', { cvv: 'not asked', cvc_check: 'pass', cvv_result: 'M', csc: '12', cvc: true, cvv2: null }],
  ['text about a code', 'cvv: none, cvc_check: 123, cvv=12345'],
  // Nothing looks into bytes.
  ['bytes', new TextEncoder().encode('4242424242424242')],
];

const submission = (body, rest = {}) => ({ operation: 'pay', reference: 'order-1', ...rest, request: { method: 'POST', url: '/pay', ...rest.request, ...(body === undefined ? {} : { body }) } });
const read = (what, allowCardData = []) => JSON.parse(plainSubmission(what, { keyAt: null, allowCardData }).plain[0]);

function refusal(what) {
  try {
    read(what);
  } catch (error) {
    return error;
  }
  return assert.fail('it passed');
}

for (const [what, body, at] of REFUSED) {
  test(`card data is refused: ${what}`, () => {
    const error = refusal(submission(body));
    assert.deepEqual([error.name, error.code, error.blame, error.detail], ['IntentoError', 'card_data', 'app', at]);
    const told = `${error.message} ${error.stack} ${JSON.stringify(error)} ${error.cause}`;
    // The path of this file has digits of its own in the stack, none of them four in a row.
    assert.doesNotMatch(told, /4242|5555|1234|(?<!\d)123(?!\d)/);
  });
}

for (const [what, body] of PASSES) {
  test(`no card data: ${what}`, () => assert.equal(read(submission(body)).cardData, false));
}

test('13 and 14 digits in an issuer\'s range with a check digit are refused where something says card', () => {
  for (const number of ['4000000000006', '30000000000004', '4915112345678', '36000000000008']) {
    assert.equal(read(submission({ number })).cardData, false);
    assert.equal(refusal(submission({ card: { number } })).detail, '/card/number');
  }
});

for (const [what, rest, at] of [
  ['the path', { request: { url: '/cards/4242424242424242/charges' } }, 'url'],
  ['the path, escaped', { request: { url: '/cards/4242%2D4242%2d4242%2D4242' } }, 'url'],
  ['the query', { request: { url: '/pay?n=4242%204242+4242%204242' } }, 'url'],
  ['a code in the query', { request: { url: '/pay?card%5Bcvc%5D=123' } }, 'url'],
  ['the reference', { reference: 'card 4242 4242 4242 4242' }, 'reference'],
  ['the lane', { lane: '4242424242424242' }, 'lane'],
  ['a header', { request: { headers: { 'X-Card': '4242424242424242' } } }, 'X-Card'],
]) {
  test(`card data is refused in ${what}`, () => {
    const error = refusal(submission(undefined, rest));
    assert.deepEqual([error.code, error.detail], ['card_data', at]);
  });
}

test('an operation may be allowed to send it, and that is told to the engine', () => {
  const card = { number: '4242424242424242', cvv: '123' };
  assert.equal(read(submission(card), ['pay']).cardData, true);
  assert.equal(read(submission({ token: 'tok_1' }), ['pay']).cardData, false);
  assert.throws(() => read(submission(card), ['refund']), { code: 'card_data' });
});

test('a member is read once: what is looked at is what travels', () => {
  let reads = 0;
  const body = { get number() { return (reads += 1) === 1 ? 'tok_1' : '4242424242424242'; } };
  assert.equal(read(submission(body)).body.text, '{"number":"tok_1"}');
});

test('what is ignored for the comparison is looked at', () => {
  const error = refusal(submission({ note: '4242424242424242' }, { request: { ignore: ['/note'] } }));
  assert.equal(error.detail, '/note');
});

test('the largest body is looked through within a moment', () => {
  for (const text of ['4241 '.repeat(52_000), 'AA11 '.repeat(52_000), '4'.repeat(260_000), 'cvv '.repeat(65_000), 'security_'.repeat(29_000)]) {
    const started = performance.now();
    read(submission(text));
    assert.ok(performance.now() - started < 2_000, text.slice(0, 9));
  }
});
