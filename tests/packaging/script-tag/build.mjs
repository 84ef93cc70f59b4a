import { cp } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { bundle } from '../shared/esbuild.mjs';
import { shared } from '../shared/build.mjs';

await cp('static', 'dist', { recursive: true });
await cp(fileURLToPath(import.meta.resolve('intento/iife')), 'dist/intento.js');
await bundle(`${shared}pay.js`, 'dist/pay.js', { format: 'iife', globalName: 'payment' });
