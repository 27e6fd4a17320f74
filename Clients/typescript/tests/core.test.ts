import assert from "node:assert/strict";
import { test } from "node:test";
import { Core, MAXIMUM_STRAY_EVENTS } from "../src/core.js";
import { EventFeed, MAXIMUM_QUEUED_EVENTS } from "../src/feed.js";
import { LanyardError, ProtocolError, RequestTooLargeError } from "../src/index.js";

class Kept {
  result: Record<string, unknown> | undefined;
  error: LanyardError | undefined;
  succeed(result: Record<string, unknown>): void {
    this.result = result;
  }
  fail(error: LanyardError): void {
    this.error = error;
  }
}

const line = (message: unknown): Buffer => Buffer.from(JSON.stringify(message) + "\n");
const event = (subscription: string, sequence: number, epoch = "e"): object => ({
  jsonrpc: "2.0",
  method: "event",
  params: { subscription, epoch, sequence, type: "agent.locked", at: "2030-01-01T00:00:00.000Z", data: {} },
});

test("lines are found at every split of the bytes", () => {
  const texts = ["ü€😀", "\\u00e9", "b\r"];
  const answers = texts.map((text, index) => line({ jsonrpc: "2.0", id: index + 1, result: { text } }));
  const bytes = Buffer.concat([Buffer.from("\n\r\n"), ...answers]);
  for (let size = 1; size <= bytes.length; size += 1) {
    const core = new Core();
    const sinks = [1, 2, 3].map(() => new Kept());
    for (const sink of sinks) core.request("token.get", {}, sink);
    for (let begin = 0; begin < bytes.length; begin += size) core.receive(bytes.subarray(begin, begin + size));
    assert.deepEqual(sinks.map((sink) => sink.result), texts.map((text) => ({ text })));
  }
});

test("a line that is not JSON or not UTF-8 ends the connection, and its text is not told", () => {
  const secret = "not-a-real-secret";
  const invalid = Buffer.concat([Buffer.from(`{"a":"${secret}`), new Uint8Array([0xff]), Buffer.from(`"}\n`)]);
  for (const bytes of [Buffer.from(`{"${secret}\n`), invalid, Buffer.from("\ufeff{}\n"), Buffer.from("[]\n")]) {
    assert.throws(
      () => new Core().receive(bytes),
      (error: unknown) => error instanceof ProtocolError && !String(error.stack).includes(secret) && !error.cause,
    );
  }
});

test("the character U+FFFD is no sign of invalid UTF-8", () => {
  const core = new Core();
  const sink = new Kept();
  core.request("token.get", {}, sink);
  core.receive(line({ jsonrpc: "2.0", id: 1, result: { text: "\ufffd" } }));
  assert.deepEqual(sink.result, { text: "\ufffd" });
});

test("a request over the limit is not sent, and bodies have a limit of their own", () => {
  const core = new Core();
  const body = "ü".repeat(40_000);
  assert.throws(() => core.request("token.get", { body }, new Kept()), RequestTooLargeError);
  assert.equal(core.request("request.send", { body }, new Kept()).id, 1);
  core.obey({ limits: { lineBytes: 100_000, bodyLineBytes: "many", requestsInFlight: 2 } });
  assert.equal(core.request("token.get", { body }, new Kept()).id, 2);
  assert.equal(core.hasRoom, false);
});

test("a lone surrogate is refused, and an escaped backslash is not one", () => {
  const core = new Core();
  assert.throws(() => core.request("token.get", { account: "a\ud83d" }, new Kept()), TypeError);
  assert.throws(() => core.request("token.get", { account: "\\\ud83d" }, new Kept()), TypeError);
  for (const account of ["😀", "\\ud83d", "\\\\ud83d"]) core.request("token.get", { account }, new Kept());
});

test("events before the answer of their subscription are kept, up to a bound", () => {
  const core = new Core();
  const feed = new EventFeed({});
  core.request("event.subscribe", {}, new Kept(), feed);
  for (let sequence = 1; sequence <= MAXIMUM_STRAY_EVENTS + 5; sequence += 1) core.receive(line(event("s", sequence)));
  core.receive(line({ jsonrpc: "2.0", id: 1, result: { subscription: "s", epoch: "e", sequence: 0 } }));
  assert.equal(feed.position?.sequence, 0);
  let count = 0;
  while (feed.take()) count += 1;
  assert.equal(count, MAXIMUM_STRAY_EVENTS);
  assert.equal(feed.position?.sequence, MAXIMUM_STRAY_EVENTS);
});

test("a slow consumer gets a gap in place of the oldest events", () => {
  const core = new Core();
  const feed = new EventFeed({});
  core.request("event.subscribe", {}, new Kept(), feed);
  core.receive(line({ jsonrpc: "2.0", id: 1, result: { subscription: "s", epoch: "e", sequence: 0 } }));
  const count = MAXIMUM_QUEUED_EVENTS * 3;
  for (let sequence = 1; sequence <= count; sequence += 1) core.receive(line(event("s", sequence)));
  const gap = feed.take();
  assert.deepEqual([gap?.type, gap?.sequence], ["event.gap", count - MAXIMUM_QUEUED_EVENTS + 1]);
  let last;
  let taken = 1;
  for (let next = feed.take(); next; next = feed.take()) {
    last = next;
    taken += 1;
  }
  assert.equal(taken, MAXIMUM_QUEUED_EVENTS);
  assert.equal(last?.sequence, count);
});
