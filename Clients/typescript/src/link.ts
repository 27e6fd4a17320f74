import type { Socket } from "node:net";
import { Core, errorCopies } from "./core.js";
import type { Sink } from "./core.js";
import { ConnectionLostError, LanyardError } from "./errors.js";
import type { EventFeed } from "./feed.js";
import { Limit } from "./limit.js";
import { UNSUBSCRIBE_MS } from "./settings.js";

/** After this time without a byte a call first lets Node report that the agent went away. */
const QUIET_MS = 1;

/** One connection. When it ends, the client opens another. */
export class Link {
  readonly #socket: Socket;
  readonly #core = new Core();
  readonly #forRoom = new Set<() => void>();
  readonly #watchers = new Set<() => void>();
  #lost: (() => LanyardError) | undefined;
  #outgoing = "";
  #heldBy = 0;
  #heardAt = Date.now();

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.unref();
    socket.on("data", (chunk) => this.#received(chunk));
    socket.on("error", () => this.lose(wentAway));
    socket.on("end", () => this.lose(wentAway));
    socket.on("close", () => this.lose(wentAway));
  }

  get isAlive(): boolean {
    return this.#lost === undefined;
  }

  /** The error that ended the link. */
  get reason(): LanyardError {
    return (this.#lost ?? wentAway)();
  }

  /** True if a hang-up may have arrived that Node has not reported yet. */
  get isQuiet(): boolean {
    return this.#heldBy === 0 && Date.now() - this.#heardAt > QUIET_MS;
  }

  /** True if the connection is open, after Node has looked at the socket once more. */
  async stands(): Promise<boolean> {
    // The first turn may end the loop's present round; the second begins after a new look.
    await new Promise<void>(setImmediate);
    if (this.isAlive) await new Promise<void>(setImmediate);
    return this.isAlive;
  }

  call(method: string, params: object, limit?: Limit, feed?: EventFeed): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      let id: number | undefined;
      const settle = (): void => {
        this.#forRoom.delete(begin);
        forget?.();
        this.release();
      };
      const sink: Sink = {
        succeed: (result) => {
          settle();
          resolve(result);
        },
        fail: (error) => {
          settle();
          reject(error);
        },
      };
      const begin = (): void => {
        if (this.#lost) return sink.fail(this.#lost());
        if (!this.#core.hasRoom) {
          this.#forRoom.add(begin);
          return;
        }
        this.#forRoom.delete(begin);
        try {
          const request = this.#core.request(method, params, sink, feed);
          id = request.id;
          this.#send(request.line);
        } catch (error) {
          settle();
          reject(error);
        }
      };
      const forget = limit?.onEnd(() => {
        if (id !== undefined) this.#cancel(id, feed && this.#unsubscriber());
        settle();
        reject(limit.ended?.reason);
      });
      this.hold();
      if (limit?.ended) {
        settle();
        reject(limit.ended.reason);
      } else {
        begin();
      }
    });
  }

  /** Applies the limits of `agent.hello`. */
  obey(hello: Readonly<Record<string, unknown>>): void {
    this.#core.obey(hello);
  }

  /** Keeps the process alive until `release`: a caller waits for the agent. */
  hold(): void {
    this.#heldBy += 1;
    if (this.#heldBy === 1) this.#socket.ref();
  }

  release(): void {
    this.#heldBy -= 1;
    if (this.#heldBy === 0) this.#socket.unref();
  }

  /** Calls `watcher` when the link ends. Returns a function that removes it. */
  onEnd(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  forgetFeed(feed: EventFeed): void {
    if (feed.subscription !== undefined) this.#core.unsubscribe(feed.subscription);
  }

  /** Ends the connection. Each call in flight fails with an error of its own. */
  lose(reason: () => LanyardError): void {
    if (this.#lost) return;
    this.#lost = reason;
    this.#core.lost(reason);
    this.#letIn();
    for (const watcher of [...this.#watchers]) watcher();
    this.#watchers.clear();
    this.#socket.destroy();
  }

  #received(chunk: Buffer): void {
    if (this.#lost) return;
    this.#heardAt = Date.now();
    try {
      this.#core.receive(chunk);
    } catch (error) {
      this.lose(error instanceof LanyardError ? errorCopies(error) : wentAway);
      if (!(error instanceof LanyardError)) throw error;
    }
    this.#letIn();
  }

  /** Lines of one turn go out in one write. */
  #send(line: string): void {
    if (this.#outgoing === "") queueMicrotask(() => this.#flush());
    this.#outgoing += line;
  }

  #flush(): void {
    const lines = this.#outgoing;
    this.#outgoing = "";
    if (!this.#lost) this.#socket.write(lines, "utf8");
  }

  #cancel(id: number, sink?: Sink): void {
    const line = this.#lost ? undefined : this.#core.cancel(id, sink);
    if (line !== undefined) this.#send(line);
  }

  /** Ends the subscription in an answer whose caller has given up: its events have no reader. */
  #unsubscriber(): Sink {
    return {
      succeed: ({ subscription }) => {
        if (typeof subscription !== "string") return;
        const limit = new Limit(UNSUBSCRIBE_MS);
        this.call("event.unsubscribe", { subscription }, limit)
          .catch(() => undefined)
          .finally(() => limit.dispose());
      },
      fail() {},
    };
  }

  /** Lets waiting calls begin, in their order. */
  #letIn(): void {
    for (const begin of this.#forRoom) {
      if (!this.#lost && !this.#core.hasRoom) return;
      this.#forRoom.delete(begin);
      begin();
    }
  }
}

export function wentAway(): LanyardError {
  return new ConnectionLostError("the agent went away");
}
