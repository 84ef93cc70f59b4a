import { cp, mkdir, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export const shared = fileURLToPath(new URL('.', import.meta.url));
export const unused = { entry: `${shared}unused-app.js`, out: 'unused/app.js' };

/** The module alone is some hundreds of kilobytes; what is without it is below this. */
const WITHOUT_MODULE_MAX = 10_000;

/** Puts the page beside the bundle, unless the bundler has, and looks whether what is not used was dropped. */
export async function finish({ page = true } = {}) {
  if (page) {
    await mkdir('dist', { recursive: true });
    await cp(`${shared}index.html`, 'dist/index.html');
  }
  const { size } = await stat(unused.out);
  if (size > WITHOUT_MODULE_MAX) throw new Error(`an import that is not used costs ${size} bytes in ${unused.out}`);
}
