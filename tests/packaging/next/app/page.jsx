'use client';

import { openQueue } from 'intento';
import { generic } from 'intento/contracts';
import { useEffect } from 'react';

import { apiOf, pay, show } from '../../shared/pay.js';

/** Rendered on the server, where it opens nothing, and again in the browser. */
export default function Checkout() {
  useEffect(() => {
    show(pay({ openQueue, generic, api: apiOf(location) }));
  }, []);
  return <h1>Checkout</h1>;
}
