import { openQueue } from 'intento';
import { generic } from 'intento/contracts';
import { IntentoProvider } from 'intento/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Checkout } from './Checkout';

const query = new URLSearchParams(location.search);
// The reference server, or any other that speaks Idempotency-Key.
const api = query.get('api') ?? 'http://127.0.0.1:8080';
const user = 'ana';

function open() {
  return openQueue({ scope: user, contract: generic, baseUrl: api, probeUrl: `${api}/health` });
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    {/* Another user is another queue. */}
    <IntentoProvider key={user} open={open}>
      <Checkout order="order-842" approved={query.has('approved')} />
    </IntentoProvider>
  </StrictMode>,
);
