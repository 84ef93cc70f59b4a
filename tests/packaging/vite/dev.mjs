import { createServer } from 'vite';

import { shared } from '../shared/build.mjs';

/** Serves the sources, dependencies bundled ahead of use, as in development; says where. */
const server = await createServer({ configFile: false, root: shared, logLevel: 'warn', cacheDir: `${process.cwd()}/cache`, server: { host: 'localhost', port: 0 } });
await server.listen();
console.log(`serving http://localhost:${server.httpServer.address().port}/`);
