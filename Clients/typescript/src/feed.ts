import { ProtocolError } from "./errors.js";
import * as shapes from "./generated/shapes.js";
import type { EventNotification } from "./generated/types.js";

/** The place of an event in the agent's order, for `since`. */
export interface Position {
  readonly epoch: string;
  readonly sequence: number;
}

/** @internal */
export interface FeedFilter {
  readonly types?: readonly string[] | undefined;
  readonly accounts?: readonly string[] | undefined;
  readonly since?: Position | undefined;
}

/** The number of events kept for a slow consumer. Beyond this, an `event.gap` replaces the oldest. */
export const MAXIMUM_QUEUED_EVENTS = 10_000;

/**
 * The events of one subscription, over any number of connections.
 *
 * After a reconnection the feed asks for the events since the last one that it received. If the agent no longer has
 * them, the consumer gets an event of type `event.gap` in their place.
 *
 * @internal
 */
export class EventFeed {
  subscription: string | undefined;
  onEvent: (() => void) | undefined;
  readonly #filter: FeedFilter;
  #position: Position | undefined;
  /** The position of the last event that the consumer took. */
  #taken: Position | undefined;
  /** The replay may begin with events that arrived already, up to here. */
  #takenUntil: Position | undefined;
  #queue: EventNotification[] = [];
  /** The index of the oldest event in `#queue`: removing the first element of a long array costs its length. */
  #head = 0;

  constructor(filter: FeedFilter) {
    this.#filter = filter;
    this.#position = filter.since && { epoch: filter.since.epoch, sequence: filter.since.sequence };
    this.#taken = this.#position;
  }

  /** The position of the last event that the consumer took, at first that of the subscription. */
  get position(): Position | undefined {
    return this.#taken;
  }

  get isReady(): boolean {
    return this.#head < this.#queue.length;
  }

  /** The params for the next `event.subscribe`. */
  params(): Record<string, unknown> {
    const { types, accounts } = this.#filter;
    return {
      ...(types && { types }),
      ...(accounts && { accounts }),
      ...(this.#position && { since: this.#position }),
    };
  }

  /** Takes the answer of `event.subscribe`, and returns the id of the subscription. */
  subscribed(result: Readonly<Record<string, unknown>>): string {
    const { subscription, epoch, sequence, gap } = result;
    if (typeof subscription !== "string" || typeof epoch !== "string" || !Number.isSafeInteger(sequence)) {
      throw new ProtocolError("the result of event.subscribe names no subscription, epoch and sequence");
    }
    this.subscription = subscription;
    const before = this.#position;
    if (before && gap !== true && before.epoch === epoch) {
      this.#takenUntil = before;
    } else {
      this.#position = { epoch, sequence: sequence as number };
      this.#takenUntil = undefined;
      if (before) {
        this.#queue.push(this.#gap(this.#position));
        this.onEvent?.();
      } else {
        this.#taken = this.#position;
      }
    }
    return subscription;
  }

  /** Queues an event for the consumer, unless it arrived before. */
  receive(event: EventNotification): void {
    const taken = this.#takenUntil;
    if (taken && event.epoch === taken.epoch && event.sequence <= taken.sequence) return;
    this.#position = { epoch: event.epoch, sequence: event.sequence };
    this.#queue.push(event);
    if (this.#queue.length - this.#head > MAXIMUM_QUEUED_EVENTS) {
      this.#head += 1;
      // The gap has the position of the last event that it stands for: later ones are still in the queue.
      this.#queue[this.#head] = this.#gap(this.#queue[this.#head] ?? event);
    }
    this.#compact();
    this.onEvent?.();
  }

  /** The oldest queued event. */
  take(): EventNotification | undefined {
    const event = this.#queue[this.#head];
    if (event) {
      this.#head += 1;
      this.#taken = { epoch: event.epoch, sequence: event.sequence };
    }
    this.#compact();
    return event;
  }

  #compact(): void {
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    } else if (this.#head > MAXIMUM_QUEUED_EVENTS) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }

  #gap({ epoch, sequence }: Position): EventNotification {
    const at = new Date().toISOString();
    const subscription = this.subscription ?? "";
    return shapes.EventNotification.read({ subscription, epoch, sequence, type: "event.gap", at, data: {} });
  }
}
