import { build } from 'vite';

import { finish, shared, unused } from '../shared/build.mjs';

const settings = { configFile: false, logLevel: 'warn', base: './' };

await build({ ...settings, root: shared, build: { outDir: `${process.cwd()}/dist`, emptyOutDir: true, chunkSizeWarningLimit: 1_000 } });
await build({
  ...settings,
  build: { outDir: 'unused', rollupOptions: { input: unused.entry, output: { entryFileNames: 'app.js' } } },
});
await finish({ page: false });
