/** More than one engine can have on the wire; beyond that, the oldest goes. */
const REPLIES_MAX = 32;

/** Replies that came and are not recorded yet, outside the engine's memory, so that they outlive it (P1.3). */
export class Replies {
  /** By the name of the fact: what to record, and what instead if that ends an engine once more. */
  readonly #kept = new Map<string, { text: string; instead: string }>();

  /** What one engine needs of them. It is given each reply of those before it once, and forgets or keeps it again. */
  calls(): object {
    const left = [...this.#kept];
    return {
      keepReply: (fact: string, text: string, instead: string) => {
        this.#kept.set(fact, { text, instead });
        const [oldest] = this.#kept.keys();
        if (this.#kept.size > REPLIES_MAX && oldest !== undefined) this.#kept.delete(oldest);
      },
      forgetReply: (fact: string) => this.#kept.delete(fact),
      nextReply: () => {
        const next = left.shift();
        if (next === undefined) return undefined;
        const [fact, { text, instead }] = next;
        this.#kept.set(fact, { text: instead, instead });
        return text;
      },
    };
  }
}
