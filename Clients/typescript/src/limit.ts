import { CallTimeoutError } from "./errors.js";

/** Ends a wait early: a time-out, an `AbortSignal`, or both. */
export class Limit {
  /** What ended the wait: the signal's reason, or a `CallTimeoutError`. `undefined` until then. */
  ended: { readonly reason: unknown } | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #signals: readonly AbortSignal[];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeoutMs: number | undefined, ...signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals.filter((signal): signal is AbortSignal => signal !== undefined);
    for (const signal of this.#signals) {
      if (signal.aborted) this.#end(signal.reason);
      else signal.addEventListener("abort", this.#aborted);
    }
    if (timeoutMs !== undefined && !this.ended) {
      this.#timer = setTimeout(() => this.#end(new CallTimeoutError("the agent did not answer in time")), timeoutMs);
    }
  }

  /** Calls `listener` when the limit is reached. Returns a function that removes it. */
  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The result of `promise`, or an early end. The work behind `promise` goes on. */
  async race<T>(promise: Promise<T>): Promise<T> {
    let forget: (() => void) | undefined;
    const end = new Promise<never>((_, reject) => {
      const refuse = (): void => reject(this.ended?.reason);
      if (this.ended) refuse();
      else forget = this.onEnd(refuse);
    });
    try {
      return await Promise.race([promise, end]);
    } finally {
      forget?.();
    }
  }

  /** Waits for some time. Throws the reason of an early end. */
  pause(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
    return this.race(over).finally(() => clearTimeout(timer));
  }

  /** Frees the timer and the signals' listeners. */
  dispose(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#signals) signal.removeEventListener("abort", this.#aborted);
    this.#listeners.clear();
  }

  readonly #aborted = (event: Event): void => this.#end((event.target as AbortSignal).reason);

  #end(reason: unknown): void {
    if (this.ended) return;
    this.ended = { reason };
    clearTimeout(this.#timer);
    for (const listener of [...this.#listeners]) listener();
  }
}
