// node accounts.mjs MODULE FIRST COUNT: what each life came to, a line each, as `sim --traces` prints it.

import { createRequire } from 'node:module';

const [module, first, count] = process.argv.slice(2);
const { account } = createRequire(import.meta.url)(module);
const end = BigInt(first) + BigInt(count);
for (let seed = BigInt(first); seed < end; seed += 1n) {
  console.log(account(seed));
}
