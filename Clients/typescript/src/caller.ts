import type { Shape } from "./record.js";

/** What every call takes beside its params. */
export interface CallOptions {
  /** Cancels the call, in the agent too. The call then throws the signal's `reason`, as `fetch` does. */
  readonly signal?: AbortSignal | undefined;
  /** The limit of this call in milliseconds, in place of the client's. A call that reaches it is cancelled. */
  readonly timeoutMs?: number | undefined;
}

/** What the generated methods call. */
export interface Caller {
  /**
   * Makes a typed call, for the generated methods.
   *
   * @param method - The name of the method, such as `token.get`.
   * @param params - The params under their wire names. One that is `undefined` is left out.
   * @param result - Reads the result.
   */
  invoke<T extends object>(method: string, params: object, result: Shape<T>, options?: CallOptions): Promise<T>;
}
