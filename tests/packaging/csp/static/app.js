import { generic } from './intento/contracts.js';
import { openQueue } from './intento/index.js';
import { openQueue as openSlim } from './intento/slim.js';
import { apiOf, pay, show } from './pay.js';

/** Both ways to the module, which a policy could refuse for different reasons. */
const withoutText = (options) => openSlim({ ...options, wasm: new URL('./intento/core.wasm', import.meta.url) });
const entry = new URLSearchParams(location.search).has('slim') ? withoutText : openQueue;

show(pay({ openQueue: entry, generic, api: apiOf(location) }));
