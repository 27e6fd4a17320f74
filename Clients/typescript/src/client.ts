import type { CallOptions, Caller } from "./caller.js";
import { dial, notRunning } from "./dialing.js";
import { AgentNotRunningError, ClientClosedError, LanyardError } from "./errors.js";
import { EventStream } from "./events.js";
import type { EventOptions } from "./events.js";
import { makeFetch } from "./fetch.js";
import type { AuthorizedFetch, FetchOptions } from "./fetch.js";
import { Methods, PROTOCOL } from "./generated/methods.js";
import * as shapes from "./generated/shapes.js";
import type { AgentHelloResult } from "./generated/types.js";
import { Limit } from "./limit.js";
import { Link, wentAway } from "./link.js";
import { toWire } from "./record.js";
import type { Shape } from "./record.js";
import { CONNECT_MS, VERSION, pauseMs } from "./settings.js";
import { defaultSocketPath } from "./socket-path.js";
import { dialOrStart, startingIsForbidden } from "./starting.js";
import type { Socket } from "node:net";

/** What `new Client` takes. */
export interface ClientOptions {
  /** The agent's socket. Absent: the one that `defaultSocketPath()` finds. */
  readonly socketPath?: string | undefined;
  /** The limit of every call, in milliseconds. Absent: the agent's own limits alone. */
  readonly timeoutMs?: number | undefined;
  /** The secret of a grant, which limits what this connection may do. */
  readonly grant?: string | undefined;
  /** The name by which the agent's audit log calls this program. Default: `lanyard-typescript`. */
  readonly name?: string | undefined;
  /** The version of this program, for the audit log. */
  readonly version?: string | undefined;
  /**
   * Whether to start the agent where none runs. Absent: only if `socketPath` is absent, as the commands do. The
   * variable `LANYARD_NO_START` forbids it in any case.
   */
  readonly start?: boolean | undefined;
}

/** What `client.connect` takes. */
export interface ConnectOptions {
  /** How long to wait for an agent that something else starts, in milliseconds. Default: 0. */
  readonly waitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Connecting {
  readonly starts: boolean;
  readonly link: Promise<Link>;
  /** Ends the attempt when no caller waits for it any more. */
  readonly abandoning: AbortController;
  waiters: number;
}

/**
 * A connection to the agent, for any number of calls at once.
 *
 * It connects at the first call (or at `connect()`) and sends `agent.hello`. If a call finds the connection closed, it
 * connects again. A call that was in flight is never sent twice: it throws `ConnectionLostError`. The connection keeps
 * the process alive only while a call or a stream of events waits.
 */
export class Client extends Methods implements Caller {
  /** The limit of every call, in milliseconds; `undefined` for none. It may be set at any time. */
  timeoutMs: number | undefined;

  readonly #hello: { client: { name: string; version: string }; protocol: string; grant?: string };
  readonly #socketPath: string | undefined;
  readonly #start: boolean | undefined;
  readonly #closing = new AbortController();
  #link: Link | undefined;
  #connecting: Connecting | undefined;
  #answered: AgentHelloResult | undefined;

  constructor(options: ClientOptions = {}) {
    super();
    const { grant, name = "lanyard-typescript", version = VERSION } = options;
    this.timeoutMs = options.timeoutMs;
    this.#hello = { client: { name, version }, protocol: PROTOCOL, ...(grant !== undefined && { grant }) };
    this.#socketPath = options.socketPath;
    this.#start = options.start;
  }

  /** The answer to `agent.hello` on the latest connection; `undefined` before the first one. */
  get hello(): AgentHelloResult | undefined {
    return this.#answered;
  }

  /**
   * Connects now.
   *
   * @returns The agent's name, version, features and limits.
   * @throws `AgentNotRunningError` - No agent listens, and none may be started.
   * @throws `AgentStartFailedError` - An agent could not be started; the message says why.
   * @throws `UntrustedAgentError` - Another user may serve the socket. Nothing was sent to it.
   * @throws `CallTimeoutError` - The agent did not accept the connection, or did not answer `agent.hello`.
   * @throws `UnsupportedProtocolError` - The agent speaks another version of the protocol.
   * @throws `NotPermittedError` - The agent does not know the grant.
   */
  async connect(options: ConnectOptions = {}): Promise<AgentHelloResult> {
    const deadline = Date.now() + (options.waitMs ?? 0);
    const limit = new Limit(undefined, this.#closing.signal, options.signal);
    try {
      for (let attempt = 0; ; attempt += 1) {
        try {
          await this.#connected(limit, true);
          return this.#answered as AgentHelloResult;
        } catch (error) {
          const pause = pauseMs(attempt);
          const isOver = Date.now() + pause > deadline;
          if (!(error instanceof AgentNotRunningError) || !error.retryable || isOver) throw error;
          await limit.pause(pause);
        }
      }
    } finally {
      limit.dispose();
    }
  }

  /**
   * Makes a raw call, in JSON as on the wire.
   *
   * @param method - The name of the method, such as `token.get`.
   * @param params - The params under their wire names, such as `minimumLifetimeSeconds`.
   * @returns The result as it came. Unlike a typed result it shows its secrets when it is printed.
   * @throws `LanyardError` - The subclass for the agent's error, or a failure of the connection:
   *   `AgentNotRunningError`, `ConnectionLostError`, `CallTimeoutError`, `ClientClosedError`, `RequestTooLargeError`,
   *   `ProtocolError`. A cancelled call throws the signal's `reason`.
   */
  async call(method: string, params: object = {}, options: CallOptions = {}): Promise<Record<string, unknown>> {
    const encoded = toWire(params) as object;
    const { signal, timeoutMs = this.timeoutMs } = options;
    const isLimited = signal !== undefined || timeoutMs !== undefined;
    const limit = isLimited ? new Limit(timeoutMs, signal) : undefined;
    try {
      if (limit?.ended) throw limit.ended.reason;
      const isReady = this.#link?.isAlive && !this.#link.isQuiet;
      const link = isReady && this.#link ? this.#link : await this.#connected(limit, true);
      return await link.call(method, encoded, limit);
    } catch (error) {
      // The error was made where bytes arrived. The caller wants to see where the call was made.
      throw error instanceof LanyardError ? error.raisedHere() : error;
    } finally {
      limit?.dispose();
    }
  }

  /** Makes a typed call, for the generated methods. */
  async invoke<T extends object>(method: string, params: object, result: Shape<T>, options?: CallOptions): Promise<T> {
    return result.read(await this.call(method, params, options));
  }

  /**
   * Returns an asynchronous iterator of events, which outlives the connection.
   *
   * After the agent went away the stream waits for the next one, and starts none.
   *
   * @returns A stream. It subscribes at `await stream.open()`, else when the first event is asked for.
   */
  events(options: EventOptions = {}): EventStream {
    return new EventStream((limit, starts) => this.#connected(limit, starts), this.#closing.signal, options);
  }

  /**
   * Returns a function like `fetch` that sends an account's access token, to the named origins only.
   *
   * ```ts
   * const api = client.fetcher({ account: "work", origins: ["https://api.example"] });
   * const response = await api("https://api.example/workorders/17");
   * ```
   *
   * After a response with status 401 it reports the token and sends the request once more, if its body can be sent
   * again. A token that is bound to a key (DPoP) gets a proof for each request.
   *
   * @throws `OriginRefusedError` - An origin is no origin, or neither `https` nor a loopback address.
   */
  fetcher(options: FetchOptions): AuthorizedFetch {
    return makeFetch(this, options);
  }

  /** Ends the connection. Calls in flight throw `ClientClosedError`, and streams of events end. */
  close(): void {
    this.#closing.abort(closed());
    this.#link?.lose(closed);
    this.#link = undefined;
  }

  static {
    // What `util.inspect` calls. Its symbol has no type without Node's, which a user of this package may not have.
    Object.defineProperty(this.prototype, Symbol.for("nodejs.util.inspect.custom"), {
      value(this: Client): string {
        return `<lanyard.Client ${this.#closing.signal.aborted ? "closed" : "open"}>`;
      },
    });
  }

  /** The link, opened if it must be. `starts` is false for a connection that is not worth starting an agent. */
  async #connected(limit: Limit | undefined, starts: boolean): Promise<Link> {
    const link = this.#link;
    if (link?.isAlive && (!link.isQuiet || (await link.stands()))) return link;
    for (;;) {
      if (this.#closing.signal.aborted) throw closed();
      if (this.#link?.isAlive) return this.#link;
      const running = this.#connecting ?? this.#begin(starts);
      if (running.starts || !starts) return this.#joined(running, limit);
      // The attempt under way starts no agent, and this one may.
      const ended = running.link.then(ignore, ignore);
      await (limit ? limit.race(ended) : ended);
    }
  }

  /** Waits for an attempt to connect. The last one that gives it up ends it: it would keep the process alive. */
  async #joined(running: Connecting, limit: Limit | undefined): Promise<Link> {
    running.waiters += 1;
    try {
      return await (limit ? limit.race(running.link) : running.link);
    } finally {
      running.waiters -= 1;
      if (running.waiters === 0) {
        this.#over(running);
        running.abandoning.abort(closed());
      }
    }
  }

  #begin(starts: boolean): Connecting {
    const abandoning = new AbortController();
    const running = { starts, link: this.#open(starts, abandoning.signal), abandoning, waiters: 0 };
    const over = (): void => this.#over(running);
    running.link.then(over, over);
    this.#connecting = running;
    return running;
  }

  #over(running: Connecting): void {
    if (this.#connecting === running) this.#connecting = undefined;
  }

  async #open(starts: boolean, abandoned: AbortSignal): Promise<Link> {
    // The agent answers `agent.hello` at once, or hangs.
    const limit = new Limit(CONNECT_MS, this.#closing.signal, abandoned);
    try {
      const link = new Link(await this.#dial(starts, limit));
      try {
        // An agent that has no place tells so and hangs up. A write fails then, and Node drops what was told: look first.
        if (!(await link.stands())) throw link.reason;
        const hello = await link.call("agent.hello", this.#hello, limit);
        if (limit.ended) throw limit.ended.reason;
        link.obey(hello);
        // Odd limits of an agent are no reason to refuse all calls: the usual limits serve.
        this.#answered = shapes.AgentHelloResult.readIfPossible(hello);
      } catch (error) {
        link.lose(wentAway);
        throw error;
      }
      this.#link = link;
      return link;
    } finally {
      limit.dispose();
    }
  }

  async #dial(starts: boolean, limit: Limit): Promise<Socket> {
    const path = this.#socketPath ?? defaultSocketPath();
    const mayStart = (this.#start ?? this.#socketPath === undefined) && !startingIsForbidden();
    if (starts && mayStart) return dialOrStart(path, limit);
    for (let attempt = 0; ; attempt += 1) {
      const dialed = await dial(path);
      if (dialed.socket) return dialed.socket;
      if (!dialed.isBusy) throw notRunning(path, dialed.code);
      await limit.pause(pauseMs(attempt));
    }
  }
}

function closed(): ClientClosedError {
  return new ClientClosedError("the client was closed");
}

function ignore(): void {}
