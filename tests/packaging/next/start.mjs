import { createServer } from 'node:http';
import next from 'next';

/** `next start`, on a free port; says where. */
const app = next({ dev: false, dir: process.cwd() });
await app.prepare();
const answer = app.getRequestHandler();
const server = createServer((request, response) => answer(request, response));
server.listen(0, 'localhost', () => console.log(`serving http://localhost:${server.address().port}/`));
