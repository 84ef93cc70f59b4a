import { nodeResolve } from '@rollup/plugin-node-resolve';
import { rollup } from 'rollup';

import { finish, shared, unused } from '../shared/build.mjs';

async function bundle(input, file) {
  const made = await rollup({ input, plugins: [nodeResolve()], onwarn: (warning) => { throw new Error(warning.message); } });
  await made.write({ file, format: 'es' });
  await made.close();
}

await bundle(`${shared}/app.js`, 'dist/app.js');
await bundle(unused.entry, unused.out);
await finish();
