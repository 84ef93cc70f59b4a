// What the pages take for granted: names that a reader's app has.
declare const user: { id: string };
declare const queue: import('intento').Queue;
declare const intent: import('intento').Intent;
declare const now: import('intento').Settled;
declare const request: import('intento').IntentRequest;
declare const operation: string;
declare const reference: string;
declare const body: { amount: number; currency: string };
declare const signal: AbortSignal;
declare function token(refresh: boolean): Promise<string>;
declare function show(...what: unknown[]): void;
declare function finish(answer: unknown): void;
declare function explain(answer: unknown): void;
declare function finishOrder(outcome: import('intento').Outcome): Promise<void>;
declare const above: Partial<import('intento').Contract> & { id: string };
