import { bundle } from '../shared/esbuild.mjs';
import { finish, shared, unused } from '../shared/build.mjs';

await bundle(`${shared}app.js`, 'dist/app.js', { format: 'esm' });
await bundle(unused.entry, unused.out, { format: 'esm' });
await finish();
