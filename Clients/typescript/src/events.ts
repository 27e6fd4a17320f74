import { ClientClosedError, LanyardError } from "./errors.js";
import { EventFeed } from "./feed.js";
import type { Position } from "./feed.js";
import type { EventData } from "./generated/events.js";
import * as shapes from "./generated/shapes.js";
import type { EventNotification, EventType } from "./generated/types.js";
import { Limit, onAbort } from "./limit.js";
import { CONNECT_MS, UNSUBSCRIBE_MS, pauseMs } from "./settings.js";

/** A type of event that this version knows. */
export type KnownEventType = keyof EventData;

/**
 * An event, with the `data` of its `type`:
 *
 * ```ts
 * switch (event.type) {
 *   case "session.expired":
 *     console.log(event.account, event.data.reason);
 * }
 * ```
 *
 * A newer agent may send types that this version does not know, so the `default` of a `switch` is reachable. The client
 * itself makes an `event.gap`, without `from` and `to`, where the agent no longer knows what was missed.
 */
export type LanyardEvent<Type extends KnownEventType = KnownEventType> = {
  [Each in Type]: Omit<EventNotification, "type" | "data"> & {
    readonly type: Each;
    readonly data: Each extends "event.gap" ? Partial<EventData[Each]> : EventData[Each];
  };
}[Type];

/** What `client.events` takes. */
export interface EventOptions {
  /** The types of events wanted, such as `account.switched`. Absent: all. */
  readonly types?: readonly EventType[] | undefined;
  /** The accounts whose events are wanted. Absent: all. */
  readonly accounts?: readonly string[] | undefined;
  /**
   * A `position` of an earlier stream: events after it are replayed. Those that the agent no longer has are told by one
   * event of type `event.gap`.
   */
  readonly since?: Position | undefined;
  /** Whether the stream outlives its connection. Default: `true`. */
  readonly reconnect?: boolean | undefined;
  /** Ends the stream: `next()` throws the signal's `reason`. */
  readonly signal?: AbortSignal | undefined;
}

/** What a stream needs of a connection. */
export interface StreamLink {
  readonly isAlive: boolean;
  readonly reason: LanyardError;
  call(method: string, params: object, limit?: Limit, feed?: EventFeed): Promise<Record<string, unknown>>;
  forgetFeed(feed: EventFeed): void;
  hold(): void;
  release(): void;
  onEnd(watcher: () => void): () => void;
}

/** Opens the client's connection. `starts` is false for one that is not worth starting an agent. */
export type Connect = (limit: Limit, starts: boolean) => Promise<StreamLink>;

/**
 * The events of one subscription, for one consumer. It survives reconnections.
 *
 * It subscribes at `open()`, else at the first `next()`. While `next()` waits, the process stays alive.
 */
export class EventStream implements AsyncIterableIterator<LanyardEvent> {
  readonly #connect: Connect;
  /** Aborted when the client is closed. */
  readonly #closing: AbortSignal;
  readonly #feed: EventFeed;
  readonly #reconnects: boolean;
  readonly #signal: AbortSignal | undefined;
  readonly #ending = new AbortController();
  #link: StreamLink | undefined;
  #wake: (() => void) | undefined;
  /** The call of `next()` that is under way: they take events in their order. */
  #turn: Promise<unknown> = Promise.resolve();

  /** @internal Use `client.events`. */
  constructor(connect: Connect, closing: AbortSignal, options: EventOptions) {
    this.#connect = connect;
    this.#closing = closing;
    this.#feed = new EventFeed(options);
    this.#feed.onEvent = () => this.#wake?.();
    this.#reconnects = options.reconnect ?? true;
    this.#signal = options.signal;
  }

  /**
   * The position of the last event that `next()` gave, for the `since` of another stream. Before the first event it is
   * where the subscription began; `undefined` before the subscription.
   */
  get position(): Position | undefined {
    return this.#feed.position;
  }

  /**
   * Subscribes now, if the stream has not yet: events from here on are in the stream.
   *
   * @returns This stream.
   * @throws `LanyardError` - As `client.call` does.
   */
  async open(): Promise<this> {
    await this.#inTurn(() => this.#opened());
    return this;
  }

  /**
   * The next event, once one has arrived.
   *
   * @returns The event; `done` when the stream or the client was closed.
   * @throws `LanyardError` - The first subscription failed, the agent refuses the subscription, or the connection ended
   *   and the stream may not reconnect.
   */
  next(): Promise<IteratorResult<LanyardEvent, undefined>> {
    return this.#inTurn(() => this.#next());
  }

  /** Ends the subscription; `for await` calls it when the loop is left. */
  async return(): Promise<IteratorResult<LanyardEvent, undefined>> {
    await this.close();
    return { done: true, value: undefined };
  }

  /** Ends the subscription. A `next()` that waits is `done`. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#ending.abort(new ClientClosedError("the stream was closed"));
    this.#wake?.();
    await this.#unsubscribe();
  }

  async #unsubscribe(): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    if (!link?.isAlive) return;
    link.forgetFeed(this.#feed);
    const limit = new Limit(UNSUBSCRIBE_MS);
    try {
      await link.call("event.unsubscribe", { subscription: this.#feed.subscription }, limit);
    } catch (error) {
      if (!(error instanceof LanyardError)) throw error;
    } finally {
      limit.dispose();
    }
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  get #isClosed(): boolean {
    return this.#ending.signal.aborted;
  }

  #inTurn<T>(body: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(body);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #opened(): Promise<void> {
    if (this.#link) return;
    this.#link = await this.#subscribe();
    // `close` came between the answer and here, and did not know this subscription.
    if (this.#isClosed) await this.#unsubscribe();
  }

  async #next(): Promise<IteratorResult<LanyardEvent, undefined>> {
    for (let attempt = 0; !this.#isClosed; ) {
      this.#throwIfAborted();
      const event = this.#feed.take();
      if (event) return { done: false, value: typed(event) };
      try {
        if (this.#link === undefined) {
          await this.#opened();
          attempt = 0;
        } else if (this.#link.isAlive) {
          await this.#woken(this.#link);
        } else {
          throw this.#link.reason;
        }
      } catch (error) {
        if (this.#isClosed) break;
        this.#throwIfAborted();
        const pause = this.#pauseAfter(error, attempt);
        if (pause === undefined) {
          this.#link = undefined;
          void this.close();
          if (error instanceof ClientClosedError) break;
          throw error;
        }
        this.#link = undefined;
        attempt += 1;
        await this.#sleep(pause);
      }
    }
    return { done: true, value: undefined };
  }

  /** The pause before the next attempt; `undefined` if there is none. */
  #pauseAfter(error: unknown, attempt: number): number | undefined {
    if (!(error instanceof LanyardError) || !error.retryable) return undefined;
    if (!this.#reconnects || this.#feed.subscription === undefined) return undefined;
    return Math.max(pauseMs(attempt), error.retryAfterMs ?? 0);
  }

  async #subscribe(): Promise<StreamLink> {
    const limit = new Limit(CONNECT_MS, this.#ending.signal, this.#signal);
    try {
      // Only the first subscription starts an agent: a later one would undo `lanyard stop`.
      const link = await this.#connect(limit, this.#feed.subscription === undefined);
      await link.call("event.subscribe", this.#feed.params(), limit, this.#feed);
      return link;
    } finally {
      limit.dispose();
    }
  }

  /** Waits for an event, for the end of the link, or for the end of the stream. */
  #woken(link: StreamLink): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wake = undefined;
        forget();
        forgetSignal?.();
        link.release();
        resolve();
      };
      link.hold();
      const forget = link.onEnd(wake);
      const forgetSignal = this.#signal && onAbort(this.#signal, wake);
      this.#wake = wake;
    });
  }

  async #sleep(ms: number): Promise<void> {
    const limit = new Limit(undefined, this.#ending.signal, this.#closing, this.#signal);
    try {
      await limit.pause(ms);
    } catch {
      // The loop finds out what ended the pause.
    } finally {
      limit.dispose();
    }
  }

  // Not `async`: a signal that is aborted after this look and before the wait would not end the wait.
  #throwIfAborted(): void {
    if (!this.#signal?.aborted) return;
    void this.close();
    throw this.#signal.reason;
  }
}

/** Reads `data` by the schema of its type. Data of another form stay as they came: the event itself still counts. */
function typed(event: EventNotification): LanyardEvent {
  const shape = shapes.eventData.get(event.type);
  if (shape) Object.assign(event, { data: shape.readIfPossible(event.data) });
  return event as LanyardEvent;
}
