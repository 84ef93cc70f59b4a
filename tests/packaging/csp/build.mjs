import { cp } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { shared } from '../shared/build.mjs';

// Nothing is built: the browser loads the package's own files.
await cp('static', 'dist', { recursive: true });
await cp(dirname(fileURLToPath(import.meta.resolve('intento'))), 'dist/intento', { recursive: true });
await cp(`${shared}pay.js`, 'dist/pay.js');
