import { resolve } from 'node:path';
import webpack from 'webpack';

import { finish, shared, unused } from '../shared/build.mjs';

/** No setting that is about intento: what a new project has. */
function bundle(entry, file) {
  const output = { path: resolve('dist'), filename: file, publicPath: '' };
  return new Promise((resolve, reject) => {
    webpack({ mode: 'production', entry, output, performance: { hints: false } }, (error, stats) => {
      if (error) return reject(error);
      if (stats.hasErrors() || stats.hasWarnings()) return reject(new Error(stats.toString()));
      resolve();
    });
  });
}

await bundle(`${shared}/app.js`, 'app.js');
await bundle(unused.entry, '../unused/app.js');
await finish();
