// Service worker: while the line is cut, no request to the shop leaves this browser. The control desk stays reachable.
const CUT = 'intento-demo.cut';

addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  const { origin, pathname } = new URL(event.request.url);
  if (origin === location.origin || pathname.startsWith('/control/')) return;
  event.respondWith(caches.has(CUT).then((cut) => (cut ? Response.error() : fetch(event.request))));
});
