/** For an app's own tests: a queue in memory, and a server that answers as it is told. Runs in browsers and in Node. */

import { openQueue } from './index.js';
import { MemoryStore } from './store.js';
import type { Queue, QueueOptions } from './types.js';

export { scriptedServer } from './scripted-server.js';
export type { AnswerReply, LostReply, Reply, ScriptedServer, SeenRequest } from './scripted-server.js';

/**
 * The `openQueue` that ships, over a store in memory: for tests in Node, vitest or jsdom, where no IndexedDB is. Each call
 * for a scope that is not open begins empty. Close it at the end of the test, `t.after(() => queue.close())`: an open queue goes on sending, and
 * keeps Node running.
 *
 * Rejects as `openQueue` does.
 */
export async function memoryQueue(options: Omit<QueueOptions, 'store' | 'minDurability'>): Promise<Queue> {
  return openQueue({ ...options, store: new MemoryStore(), minDurability: 'volatile' });
}
