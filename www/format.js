import { locale } from './words.js';

/** Minor units to text: 22200 -> "R$ 222,00" in pt-BR. */
export function money(cents) {
  return new Intl.NumberFormat(locale(), { style: 'currency', currency: 'BRL', currencyDisplay: 'narrowSymbol' }).format(cents / 100);
}

export function clock(ms) {
  return new Intl.DateTimeFormat(locale(), { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' }).format(ms);
}

/** Milliseconds as seconds: two decimals at most below one second, one below a minute, none above, unless told. */
export function seconds(ms, digits = ms < 1000 ? 2 : ms < 60_000 ? 1 : 0) {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(ms / 1000);
}
