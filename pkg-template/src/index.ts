export { loadEngine } from './engine.js';
export type * from './types.js';
