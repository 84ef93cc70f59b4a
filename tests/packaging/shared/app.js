import { openQueue } from 'intento';
import { generic } from 'intento/contracts';

import { apiOf, pay, show } from './pay.js';

show(pay({ openQueue, generic, api: apiOf(location) }));
