import { CallTimeoutError } from "./errors.js";

/** The longest time of a timer, 24 days: Node takes a longer one, such as `Infinity`, for 1 ms. */
const LONGEST_MS = 2 ** 31 - 1;

interface Aborting {
  readonly listeners: Set<() => void>;
  readonly abort: () => void;
}

const abortings = new WeakMap<AbortSignal, Aborting>();

/**
 * Calls `listener` when the signal is aborted. Returns a function that removes it.
 *
 * A signal gets one listener for any number of calls: Node takes more than ten for a leak, and warns.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const { listeners, abort } = abortings.get(signal) ?? listenTo(signal);
  listeners.add(listener);
  return () => {
    if (!listeners.delete(listener) || listeners.size > 0) return;
    signal.removeEventListener("abort", abort);
    abortings.delete(signal);
  };
}

function listenTo(signal: AbortSignal): Aborting {
  const listeners = new Set<() => void>();
  const abort = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const aborting = { listeners, abort };
  abortings.set(signal, aborting);
  signal.addEventListener("abort", abort);
  return aborting;
}

/** Ends a wait early: a time-out, an `AbortSignal`, or both. */
export class Limit {
  /** What ended the wait: the signal's reason, or a `CallTimeoutError`. `undefined` until then. */
  ended: { readonly reason: unknown } | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #forgetSignals: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeoutMs: number | undefined, ...signals: readonly (AbortSignal | undefined)[]) {
    for (const signal of signals) {
      if (signal?.aborted) this.#end(signal.reason);
      else if (signal) this.#forgetSignals.push(onAbort(signal, () => this.#end(signal.reason)));
    }
    if (timeoutMs !== undefined && timeoutMs <= LONGEST_MS && !this.ended) {
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
    const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, Math.min(ms, LONGEST_MS))));
    return this.race(over).finally(() => clearTimeout(timer));
  }

  /** Frees the timer and the signals' listeners. */
  dispose(): void {
    clearTimeout(this.#timer);
    for (const forget of this.#forgetSignals) forget();
    this.#listeners.clear();
  }

  #end(reason: unknown): void {
    if (this.ended) return;
    this.ended = { reason };
    clearTimeout(this.#timer);
    for (const listener of [...this.#listeners]) listener();
  }
}
