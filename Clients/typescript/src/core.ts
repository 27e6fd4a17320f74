import { LanyardError, ProtocolError, RequestTooLargeError } from "./errors.js";
import type { EventFeed } from "./feed.js";
import { ERRORS } from "./generated/errors.js";
import { METHODS_WITH_BODY } from "./generated/methods.js";
import * as shapes from "./generated/shapes.js";
import type { EventNotification } from "./generated/types.js";
import { isObject } from "./record.js";

/** The longest line that the client reads. Answers to `request.send` hold whole bodies. */
export const MAXIMUM_ANSWER_BYTES = 64 << 20;

// The agent's default limits, until its answer to `agent.hello` names its `limits`.
const REQUESTS_IN_FLIGHT = 128;
const LINE_BYTES = 64 << 10;
const BODY_LINE_BYTES = 1 << 20;

/** The number of events kept that arrive before the answer with their subscription id. */
export const MAXIMUM_STRAY_EVENTS = 1024;

const NEWLINE = 0x0a;

/** The number of pieces of a line that are kept apart: an agent may write a line byte by byte. */
const MAXIMUM_PARTS = 1024;

/** Receives the answer of one call. */
export interface Sink {
  succeed(result: Record<string, unknown>): void;
  fail(error: LanyardError): void;
}

/** Ignores the answer of a cancelled call. */
const FORGOTTEN: Sink = { succeed() {}, fail() {} };

/**
 * The protocol of one connection, without I/O: framing, ids, answers, events.
 *
 * `Link` passes received bytes to `Core` and writes the lines that it returns.
 *
 * @internal
 */
export class Core {
  #requestsInFlight = REQUESTS_IN_FLIGHT;
  #lineBytes = LINE_BYTES;
  #bodyLineBytes = BODY_LINE_BYTES;
  #lastId = 0;
  /** The begin of a line whose end has not arrived. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  #waiting = new Map<number, Sink>();
  readonly #subscribing = new Map<number, EventFeed>();
  readonly #feeds = new Map<string, EventFeed>();
  #strays: EventNotification[] = [];

  /** True if one more request fits the agent's limit. Cancelled requests count until they are answered. */
  get hasRoom(): boolean {
    return this.#waiting.size < this.#requestsInFlight;
  }

  /** Applies the limits from the answer to `agent.hello`. */
  obey(hello: Readonly<Record<string, unknown>>): void {
    const limits = isObject(hello["limits"]) ? hello["limits"] : {};
    this.#requestsInFlight = limit(limits["requestsInFlight"], this.#requestsInFlight);
    this.#lineBytes = limit(limits["lineBytes"], this.#lineBytes);
    this.#bodyLineBytes = limit(limits["bodyLineBytes"], this.#bodyLineBytes);
  }

  /** The id and the line of a new request. `feed` gets the events of the subscription in its answer. */
  request(method: string, params: object, sink: Sink, feed?: EventFeed): { id: number; line: string } {
    const id = this.#lastId + 1;
    const isBare = Object.keys(params).length === 0;
    const line = lineOf(isBare ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params });
    const allowed = METHODS_WITH_BODY.has(method) ? this.#bodyLineBytes : this.#lineBytes;
    // A UTF-16 unit has at most three bytes in UTF-8.
    const bytes = line.length * 3 > allowed ? Buffer.byteLength(line) : 0;
    if (bytes > allowed) {
      // The agent would close the connection, which other callers may share.
      throw new RequestTooLargeError(`the request has ${bytes} bytes; the agent's limit is ${allowed}`);
    }
    this.#lastId = id;
    this.#waiting.set(id, sink);
    if (feed) this.#subscribing.set(id, feed);
    return { id, line };
  }

  /**
   * Cancels a request. Returns the line to send, or `undefined` if the request was answered already. `sink` gets the
   * answer that still comes.
   */
  cancel(id: number, sink: Sink = FORGOTTEN): string | undefined {
    if (!this.#waiting.has(id)) return undefined;
    this.#waiting.set(id, sink);
    this.#subscribing.delete(id);
    return lineOf({ jsonrpc: "2.0", method: "$/cancel", params: { id } });
  }

  /** Forgets a subscription: its events are dropped. */
  unsubscribe(subscription: string): void {
    this.#feeds.delete(subscription);
  }

  /** Takes received bytes, which need not be whole lines. After an exception the connection can't be used. */
  receive(chunk: Buffer): void {
    let begin = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, begin);
      if (end < 0) break;
      if (this.#partBytes > 0) {
        const line = Buffer.concat([...this.#parts, chunk.subarray(begin, end)]);
        this.#parts = [];
        this.#partBytes = 0;
        this.#lineArrived(line, 0, line.length);
      } else {
        this.#lineArrived(chunk, begin, end);
      }
      begin = end + 1;
    }
    if (begin < chunk.length) {
      this.#parts.push(chunk.subarray(begin));
      this.#partBytes += chunk.length - begin;
      if (this.#parts.length > MAXIMUM_PARTS) this.#parts = [Buffer.concat(this.#parts)];
      if (this.#partBytes > MAXIMUM_ANSWER_BYTES) {
        throw new ProtocolError(`a line of the agent is longer than ${MAXIMUM_ANSWER_BYTES} bytes`);
      }
    }
  }

  /** Ends the connection: every waiting call fails with an error of its own. */
  lost(reason: () => LanyardError): void {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    this.#subscribing.clear();
    this.#feeds.clear();
    for (const sink of waiting.values()) sink.fail(reason());
  }

  #lineArrived(bytes: Buffer, begin: number, end: number): void {
    if (end === begin || (end === begin + 1 && bytes[begin] === 0x0d)) return;
    const message = parse(bytes, begin, end);
    if (!isObject(message)) throw new ProtocolError("a line of the agent is not an object");
    if ("method" in message) {
      if (message["method"] === "event") this.#eventArrived(shapes.EventNotification.read(message["params"]));
      return;
    }
    const id = message["id"];
    if (id === undefined || id === null) {
      // An error without an id belongs to no call, so some call would wait for ever. End the connection.
      throw errorOf(message["error"]);
    }
    this.#answerArrived(id, message);
  }

  #answerArrived(id: unknown, message: Record<string, unknown>): void {
    const sink = this.#waiting.get(id as number);
    if (!sink) return;
    const feed = this.#subscribing.get(id as number);
    this.#waiting.delete(id as number);
    this.#subscribing.delete(id as number);
    if ("error" in message) {
      sink.fail(errorOf(message["error"]));
      return;
    }
    const result = message["result"];
    if (!isObject(result)) {
      sink.fail(new ProtocolError("a result of the agent is not an object"));
      return;
    }
    if (feed) {
      try {
        this.#subscribed(feed, result);
      } catch (error) {
        if (!(error instanceof LanyardError)) throw error;
        sink.fail(error);
        return;
      }
    }
    sink.succeed(result);
  }

  #subscribed(feed: EventFeed, result: Record<string, unknown>): void {
    this.#feeds.set(feed.subscribed(result), feed);
    const strays = this.#strays;
    this.#strays = [];
    for (const event of strays) this.#eventArrived(event);
  }

  #eventArrived(event: EventNotification): void {
    const feed = this.#feeds.get(event.subscription);
    if (feed) feed.receive(event);
    else if (this.#subscribing.size > 0 && this.#strays.length < MAXIMUM_STRAY_EVENTS) this.#strays.push(event);
  }
}

function limit(told: unknown, otherwise: number): number {
  return Number.isSafeInteger(told) && (told as number) > 0 ? (told as number) : otherwise;
}

/** @internal Makes an exception of an error object (JSON-RPC 2.0, section 5.1). */
export function errorOf(value: unknown): LanyardError {
  if (!isObject(value)) return new ProtocolError("an error of the agent is not an object");
  const { code, message } = value;
  if (!Number.isSafeInteger(code)) return new ProtocolError("an error of the agent has no code");
  const data = isObject(value["data"]) ? value["data"] : {};
  const name = typeof data["name"] === "string" ? data["name"] : undefined;
  const kind = ERRORS.get(code as number) ?? LanyardError;
  return new kind(typeof message === "string" ? message : "", { code: code as number, name, data });
}

/** @internal Makes copies of an error: each call that it ends throws one of its own. */
export function errorCopies(error: LanyardError): () => LanyardError {
  const kind = error.constructor as typeof LanyardError;
  return () => new kind(error.message, { code: error.code, name: error.name, data: error.data });
}

// JSON.stringify writes a lone surrogate as an escape, and other surrogates as they are.
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

function lineOf(message: object): string {
  const text = JSON.stringify(message);
  if (text.includes("\\ud") && LONE_SURROGATE.test(text)) {
    throw new TypeError("a string of the params holds a lone surrogate");
  }
  return text + "\n";
}

const strictly = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function parse(bytes: Buffer, begin: number, end: number): unknown {
  try {
    const text = bytes.toString("utf8", begin, end);
    // `toString` replaces invalid bytes. Only then the slower decoder, which refuses them, has to look.
    if (text.includes("\ufffd")) strictly.decode(bytes.subarray(begin, end));
    return JSON.parse(text);
  } catch {
    // The error of `JSON.parse` quotes the line, which may hold a token.
  }
  throw new ProtocolError("a line of the agent is not JSON");
}
