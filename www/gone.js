import { translate } from './dom.js';
import { language } from './words.js';

document.documentElement.lang = language();
translate(document);
