// A page cannot take its browser offline. Its service worker can stop every request to the shop before it leaves.

const CUT = 'intento-demo.cut';
const WORKER = 'cut-line.js';
const CONTROL_MS = 3000;

/** The line from this browser to the shop, for all of its tabs. The worker exists only while it is cut. */
export function createLine() {
  let cut = false;

  return {
    isCut: () => cut,
    /** Asks again: another tab may have cut or mended it. */
    async look() {
      cut = 'caches' in globalThis && (await caches.has(CUT));
    },
    /** Throws if this browser allows no service worker here. */
    async cut(wanted) {
      if (wanted) {
        await control();
        await caches.open(CUT);
      } else {
        await caches.delete(CUT);
        await (await navigator.serviceWorker.getRegistration())?.unregister();
      }
      cut = wanted;
    },
  };
}

async function control() {
  await navigator.serviceWorker.register(WORKER);
  if (navigator.serviceWorker.controller) return;
  const signal = AbortSignal.timeout(CONTROL_MS);
  await new Promise((resolve, reject) => {
    navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true });
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}
