import { openQueue, type Queue, type Settled } from 'intento';
import { defineContract, generic } from 'intento/contracts';
import { openQueue as openSlim } from 'intento/slim';
import { memoryQueue, scriptedServer, type ScriptedServer } from 'intento/testing';
import { source } from 'intento/webview';
import 'intento/iife';

const options = { scope: 'shopper', contract: defineContract({ id: 'shop', extends: generic }), baseUrl: 'https://api.shop.example' };

export async function all(): Promise<Settled[]> {
  const queues: Queue[] = [
    await openQueue(options),
    await openSlim({ ...options, wasm: fetch('/core.wasm') }),
    await memoryQueue(options),
    await intento.openQueue({ ...options, contract: intento.contracts.generic }),
  ];
  const server: ScriptedServer = scriptedServer({ script: [{ lost: 'answer' }, { status: 409, headers: { 'Retry-After': '1' } }] });
  server.next({ delayMs: 10 });
  const settling = queues.map((queue) => queue.fetch('/payments', { operation: 'pay', reference: source, method: 'POST' }));
  return Promise.all(settling);
}

// @ts-expect-error the module is not optional
openSlim(options).catch(() => {});
// @ts-expect-error a store in memory is what it is
memoryQueue({ ...options, minDurability: 'strong' }).catch(() => {});
