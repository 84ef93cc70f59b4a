// A shop's worker that tells pages what it has not done: it queues payments, it says.
addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  if (event.request.method === 'POST') event.respondWith(Response.json({ queued: true }));
});
