import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** All that is here is that the sources shared with the other projects are beside this folder. */
export default { turbopack: { root }, outputFileTracingRoot: root };
