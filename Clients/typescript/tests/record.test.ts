import assert from "node:assert/strict";
import { test } from "node:test";
import { format, inspect } from "node:util";
import { ProtocolError, ReauthenticationRequiredError, extra, toWire } from "../src/index.js";
import * as shapes from "../src/generated/shapes.js";
import { HELLO, TOKEN } from "./fake-agent.js";

const answered = { ...TOKEN, source: "ofLater", later: { idToken: "secret-later" } };

test("a secret is a member to read, and is not printed", () => {
  const token = shapes.Token.read(answered);
  assert.equal(token.accessToken, "secret-access-token");
  const printed = [
    inspect(token, { depth: 9, showHidden: true }),
    inspect([{ token }], { depth: 9 }),
    format("%s %o %O %j", token, token, token, token),
    String(token),
    JSON.stringify({ token }),
    JSON.stringify({ ...token }),
    JSON.stringify(Object.entries(token)),
    inspect(structuredClone(token)),
  ].join("\n");
  assert.match(printed, /f1/);
  assert.doesNotMatch(printed, /secret/);
});

test("what this version does not know survives a round trip", () => {
  const token = shapes.Token.read(answered);
  assert.deepEqual(toWire(token), answered);
  assert.deepEqual(extra(token), { later: { idToken: "secret-later" } });
  assert.deepEqual(extra({}), {});
});

test("a member named __proto__ is a member", () => {
  const token = shapes.Token.read(JSON.parse(JSON.stringify(TOKEN).replace("{", '{"__proto__":{"polluted":1},')));
  assert.equal((token as unknown as Record<string, unknown>)["polluted"], undefined);
  assert.match(JSON.stringify(toWire(token)), /"__proto__":\{"polluted":1\}/);
});

test("instants are dates", () => {
  for (const [sent, read] of [
    ["2030-01-01T00:05:00.123456Z", "2030-01-01T00:05:00.123Z"],
    ["2030-01-01t00:05:00z", "2030-01-01T00:05:00.000Z"],
    ["2030-01-01T02:05:00.5+02:00", "2030-01-01T00:05:00.500Z"],
    ["2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"],
  ]) {
    assert.equal(shapes.Token.read({ ...TOKEN, expiresAt: sent }).expiresAt.toISOString(), read);
  }
});

test("a wrong answer is told by its place", () => {
  const message = (value: object): string => {
    try {
      shapes.Token.read(value);
    } catch (error) {
      assert.ok(error instanceof ProtocolError);
      return error.message;
    }
    throw new Error("nothing was thrown");
  };
  assert.equal(message({ ...TOKEN, accessToken: 7 }), "Token at /accessToken: not a string");
  assert.equal(message({ ...TOKEN, scopes: ["a", 7] }), "Token at /scopes/1: not a string");
  assert.equal(message({ ...TOKEN, generation: 2 ** 53 }), "Token at /generation: not an integer within 2^53 - 1");
  assert.equal(message({ ...TOKEN, expiresAt: "2030-13-01T00:00:00Z" }), "Token at /expiresAt: not an instant");
  assert.equal(message({ ...TOKEN, account: null }), "Token at /: no member account");
});

test("params that JSON can't hold are refused", () => {
  assert.throws(() => toWire({ a: Number.NaN }), TypeError);
  assert.throws(() => toWire({ a: [1n] }), TypeError);
  const params = { at: new Date(0), left: undefined, none: null };
  assert.deepEqual(toWire(params), { at: "1970-01-01T00:00:00.000Z", none: null });
});

test("an answer inside of an answer is a record, too", () => {
  const hello = shapes.AgentHelloResult.read({ ...HELLO, agent: { ...HELLO.agent, later: "secret-later" } });
  assert.doesNotMatch(inspect(hello, { depth: 9 }), /secret/);
  assert.deepEqual(toWire(hello), { ...HELLO, agent: { ...HELLO.agent, later: "secret-later" } });
});

test("an error prints its name, message and code, and nothing of its data", () => {
  const data = { account: "acc_1", remedies: ["reauthenticate", 7], claims: "secret-claims", reason: "outcomeUnknown" };
  const error = new ReauthenticationRequiredError("sign in again", { code: 2004, data });
  assert.match(inspect(error, { showHidden: true }), /reauthenticationRequired: sign in again[^]*code: 2004/);
  assert.equal(String(error), "reauthenticationRequired: sign in again");
  assert.doesNotMatch(inspect(error, { showHidden: true }) + JSON.stringify(error), /secret|acc_1/);
  assert.deepEqual([error.account, error.remedies, error.reason], ["acc_1", ["reauthenticate"], "outcomeUnknown"]);
});
