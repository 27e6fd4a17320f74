/** What the constructor of an error takes. */
export interface ErrorDetails {
  readonly code?: number | undefined;
  readonly name?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * An error that the agent answered, or a failure of the client.
 *
 * The text holds nothing of `data` or of the request, and the agent never echoes input, so an error may be logged.
 */
export class LanyardError extends Error {
  /** The JSON-RPC error code; `undefined` for failures of the client. */
  declare readonly code: number | undefined;

  readonly #data: Readonly<Record<string, unknown>>;

  constructor(message = "", details: ErrorDetails = {}) {
    super(message);
    if (details.code !== undefined) Object.assign(this, { code: details.code });
    this.#data = details.data ?? {};
    const name = details.name ?? new.target.contractName;
    // Not enumerable, as in every `Error`.
    Object.defineProperty(this, "name", { value: name, configurable: true, writable: true });
    this.raisedHere();
  }

  /** @internal Begins the stack anew, here: with the name, and with the functions that wait for the caller. */
  raisedHere(): this {
    Error.captureStackTrace(this, this.raisedHere);
    return this;
  }

  /** @internal */
  static readonly contractName: string = "error";

  /** The stable name of the error, such as `reauthenticationRequired`. */
  declare readonly name: string;

  /** The error's `data` with all its members. `console.log` and `JSON.stringify` do not show it. */
  get data(): Readonly<Record<string, unknown>> {
    return this.#data;
  }

  /** True if the same call may succeed later without any action. */
  get retryable(): boolean {
    return this.data["retryable"] === true;
  }

  /** The pause before the next try that the agent asks for, in milliseconds. */
  get retryAfterMs(): number | undefined {
    const told = this.data["retryAfterMs"];
    return Number.isSafeInteger(told) ? (told as number) : undefined;
  }

  /** The machine-readable cause within this error, such as `outcomeUnknown`. */
  get reason(): string | undefined {
    return text(this.data["reason"]);
  }

  /** The remedies, in order: `unlock`, `connect`, `stepUp`, `interact`, `reauthenticate`, `administrator`. */
  get remedies(): readonly string[] {
    const told = this.data["remedies"];
    return Array.isArray(told) ? told.filter((remedy): remedy is string => typeof remedy === "string") : [];
  }

  /** The id of the account that the error is about. */
  get account(): string | undefined {
    return text(this.data["account"]);
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

// Failures of the client. They have no code.

/** No agent accepts connections at the socket. */
export class AgentNotRunningError extends LanyardError {
  /** @internal */
  static override readonly contractName: string = "agentNotRunning";

  /** True: the same call may succeed later. */
  override get retryable(): boolean {
    return true;
  }
}

/** No agent runs, and none could be started. The message says why. */
export class AgentStartFailedError extends AgentNotRunningError {
  /** @internal */
  static override readonly contractName: string = "agentStartFailed";

  /** False: what keeps the agent from starting lasts until a person changes it. */
  override get retryable(): boolean {
    return false;
  }
}

/** The connection ended during the call. The call may have taken effect. */
export class ConnectionLostError extends LanyardError {
  /** @internal */
  static override readonly contractName: string = "connectionLost";

  /** True: the same call may succeed later. */
  override get retryable(): boolean {
    return true;
  }
}

/** The client's `timeoutMs` ended the call; the client cancelled the request. */
export class CallTimeoutError extends LanyardError {
  /** @internal */
  static override readonly contractName: string = "callTimeout";

  /** True: the same call may succeed later. */
  override get retryable(): boolean {
    return true;
  }
}

/** The client was used after `close()`. */
export class ClientClosedError extends LanyardError {
  /** @internal */
  static override readonly contractName: string = "clientClosed";
}

/** The peer violates the contract. The text names the place, never the value. */
export class ProtocolError extends LanyardError {
  /** @internal */
  static override readonly contractName: string = "protocolError";
}

/** Another user may serve the socket. Nothing was sent to it. */
export class UntrustedAgentError extends LanyardError {
  /** @internal */
  static override readonly contractName: string = "untrustedAgent";
}

/** The request is longer than the agent's line limit (`agent.hello`, `limits`). It was not sent. */
export class RequestTooLargeError extends LanyardError {
  /** @internal */
  static override readonly contractName: string = "requestTooLarge";
}

/** The token may not go to the URL: none of the named `origins` covers it. Nothing was sent. */
export class OriginRefusedError extends LanyardError {
  /** @internal */
  static override readonly contractName: string = "originRefused";
}
