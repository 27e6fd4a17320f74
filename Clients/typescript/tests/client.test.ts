import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { inspect } from "node:util";
import {
  AgentNotRunningError,
  CallTimeoutError,
  Client,
  ClientClosedError,
  ConnectionLostError,
  InvalidParamsError,
  LanyardError,
  OverloadedError,
  ProtocolError,
  UntrustedAgentError,
  defaultSocketPath,
} from "../src/index.js";
import { privateDirectory } from "../src/socket-path.js";
import { FakeAgent, Fault, TOKEN, turn } from "./fake-agent.js";
import type { Peer, Request } from "./fake-agent.js";

async function scripted(context: TestContext): Promise<{ agent: FakeAgent; client: Client }> {
  const agent = await FakeAgent.start();
  const client = new Client({ socketPath: agent.path });
  context.after(async () => {
    client.close();
    await agent.stop();
  });
  return { agent, client };
}

test("the client introduces itself before the first call", async (context) => {
  const { agent } = await scripted(context);
  agent.on("agent.status", () => ({}));
  const client = new Client({ socketPath: agent.path, name: "mail", version: "2.0", grant: "grant-secret" });
  context.after(() => client.close());
  await client.call("agent.status");
  assert.equal(client.hello?.agent.name, "fake-agent");
  const params = { client: { name: "mail", version: "2.0" }, protocol: "1", grant: "grant-secret" };
  assert.deepEqual(agent.received[0]?.params, params);
  assert.deepEqual(agent.received[1], { jsonrpc: "2.0", id: 2, method: "agent.status" });
  assert.doesNotMatch(inspect(client, { showHidden: true }) + JSON.stringify(client), /grant-secret/);
});

test("a typed call", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("token.get", () => TOKEN);
  const token = await client.token.get({ account: "@active", minimumLifetimeSeconds: 60, scopes: ["a"] });
  assert.equal(token.accessToken, "secret-access-token");
  assert.equal(token.expiresAt.getTime(), Date.UTC(2030, 0, 1, 0, 5));
  const params = (await agent.waitFor("token.get")).params;
  assert.deepEqual(params, { account: "@active", minimumLifetimeSeconds: 60, scopes: ["a"] });
});

test("an error tells where the call was made", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("token.get", () => {
    throw new Fault(-32602, "invalidParams", { path: "/account", expected: "a string" });
  });
  async function theCallerOfTheTest(): Promise<void> {
    await client.token.get({ account: "" });
  }
  await assert.rejects(theCallerOfTheTest, (error: unknown) => {
    assert.ok(error instanceof InvalidParamsError);
    assert.deepEqual([error.path, error.expected, error.code], ["/account", "a string", -32602]);
    assert.match(error.stack ?? "", /^invalidParams: about invalidParams\n[^]*theCallerOfTheTest/);
    return true;
  });
});

test("answers in any order, byte by byte, over one connection", async (context) => {
  const { agent, client } = await scripted(context);
  const held: [Request, Peer][] = [];
  agent.on("token.get", (request, peer) => void held.push([request, peer]));
  const calls = Array.from({ length: 20 }, (_, index) => client.call("token.get", { index }));
  await agent.waitFor("token.get", 20);
  for (const [{ id, params }, peer] of held.reverse()) {
    await peer.drip(JSON.stringify({ jsonrpc: "2.0", id, result: { you: params?.["index"], text: "ü€😀" } }) + "\n");
  }
  const results = await Promise.all(calls);
  assert.deepEqual(results.map((result) => result["you"]), Array.from({ length: 20 }, (_, index) => index));
  assert.equal(agent.peers.length, 1);
});

test("no more requests are sent than the agent takes, and the others keep their order", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("agent.hello", () => ({ limits: { requestsInFlight: 2 } }));
  const held: [Request, Peer][] = [];
  agent.on("token.get", (request, peer) => void held.push([request, peer]));
  const controller = new AbortController();
  const calls = [0, 1, 2, 3, 4].map((index) =>
    client.call("token.get", { index }, index === 3 ? { signal: controller.signal } : {}),
  );
  await agent.waitFor("token.get", 2);
  await turn();
  assert.equal(held.length, 2);
  controller.abort();
  await assert.rejects(calls[3] as Promise<unknown>, { name: "AbortError" });
  for (let count = 0; count < 4; count += 1) {
    while (held.length <= count) await turn();
    const [request, peer] = held[count] as [Request, Peer];
    peer.answer(request, {});
  }
  await Promise.all(calls.filter((_, index) => index !== 3));
  assert.deepEqual(held.map(([request]) => request.params?.["index"]), [0, 1, 2, 4]);
  assert.equal(agent.requests("$/cancel").length, 0);
});

test("a signal cancels the call here and in the agent, and is left without listeners", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("agent.status", () => ({ ok: true }));
  const controller = new AbortController();
  const call = client.call("signIn.wait", {}, { signal: controller.signal });
  agent.on("signIn.wait", () => undefined);
  const request = await agent.waitFor("signIn.wait");
  const reason = new Error("the person went away");
  controller.abort(reason);
  await assert.rejects(call, reason);
  assert.deepEqual((await agent.waitFor("$/cancel")).params, { id: request.id });
  await assert.rejects(client.call("agent.status", {}, { signal: controller.signal }), reason);
  assert.deepEqual(await client.call("agent.status"), { ok: true });
});

test("one signal serves any number of calls, without a warning and without a listener that stays", async (context) => {
  const { agent } = await scripted(context);
  agent.on("token.get", () => TOKEN);
  const calls = `
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...values) => (listeners += 1, addEventListener.apply(signal, values));
    signal.removeEventListener = (...values) => (listeners -= 1, removeEventListener.apply(signal, values));
    await Promise.all(Array.from({ length: 50 }, () => client.token.get({ account: "work" }, { signal })));
    await Promise.all(Array.from({ length: 50 }, () => client.connect({ signal })));
    console.log(listeners);`;
  assert.deepEqual(await program(calls, agent.path), { status: 0, said: "0\n" });
});

test("a time-out ends a call, also one that connects", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("agent.hello", () => undefined);
  await assert.rejects(client.call("agent.status", {}, { timeoutMs: 30 }), CallTimeoutError);
  client.timeoutMs = 30;
  await assert.rejects(client.call("agent.status"), CallTimeoutError);
  // No call waited for the first connection any more, so that the client ended it.
  assert.equal(agent.requests("agent.hello").length, 2);
});

test("the agent goes: calls in flight fail at once, the next call connects again", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("token.get", (_, peer) => peer.close());
  agent.on("agent.status", () => ({ ok: true }));
  const calls = [client.call("token.get"), client.call("token.get")];
  const errors = await Promise.all(calls.map((call) => call.catch((error: unknown) => error)));
  assert.ok(errors.every((error) => error instanceof ConnectionLostError));
  assert.notEqual(errors[0], errors[1]);
  assert.deepEqual(await client.call("agent.status"), { ok: true });
  assert.equal(agent.requests("token.get").length, 2);
});

test("an error without an id ends the connection with that error", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("agent.hello", (_, peer) => {
    const { error } = new Fault(1003, "overloaded", { retryable: true, retryAfterMs: 200 });
    peer.send({ jsonrpc: "2.0", id: null, error });
  });
  await assert.rejects(client.connect(), (error) => error instanceof OverloadedError && error.retryAfterMs === 200);
});

test("close ends calls, and what is called after it", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("token.get", () => undefined);
  const call = client.call("token.get");
  await agent.waitFor("token.get");
  client.close();
  await assert.rejects(call, ClientClosedError);
  await assert.rejects(client.call("token.get"), ClientClosedError);
  const connecting = new Client({ socketPath: agent.path });
  const begun = connecting.connect();
  connecting.close();
  await assert.rejects(begun, ClientClosedError);
  assert.equal(inspect(connecting), "<lanyard.Client closed>");
});

test("connect waits for an agent that starts", async (context) => {
  const { agent, client } = await scripted(context);
  await agent.die();
  await assert.rejects(client.connect(), AgentNotRunningError);
  setTimeout(() => void agent.listen(), 60);
  assert.equal((await client.connect({ waitMs: 5_000 })).instance, "instance-1");
});

test("a path that is too long is told, and not cut", async () => {
  const client = new Client({ socketPath: "/" + "long".repeat(100) });
  await assert.rejects(client.connect(), (error) => error instanceof AgentNotRunningError && error.retryable);
});

test("a directory that others may write to is not trusted", async (context) => {
  const { agent, client } = await scripted(context);
  chmodSync(agent.directory, 0o777);
  await assert.rejects(client.connect(), UntrustedAgentError);
  assert.equal(agent.received.length, 0);
  chmodSync(agent.directory, 0o1777);
  await client.connect();
});

test("a link to the socket is judged by where it leads", async (context) => {
  const { agent } = await scripted(context);
  const links = join(agent.directory, "links");
  mkdirSync(links, { mode: 0o700 });
  symlinkSync(agent.path, join(links, "agent.sock"));
  const client = new Client({ socketPath: join(links, "agent.sock") });
  context.after(() => client.close());
  await client.connect();
  client.close();
  chmodSync(agent.directory, 0o777);
  await assert.rejects(new Client({ socketPath: join(links, "agent.sock") }).connect(), UntrustedAgentError);
});

test("another user's socket gets nothing", { skip: process.geteuid?.() !== 0 }, async (context) => {
  const { agent, client } = await scripted(context);
  chownSync(agent.path, 65534, 65534);
  await assert.rejects(client.connect(), (error) => error instanceof UntrustedAgentError && !error.retryable);
  assert.equal(agent.received.length, 0);
});

test("the socket is found by the environment", (context) => {
  const { LANYARD_SOCKET: socket, XDG_RUNTIME_DIR: runtime } = process.env;
  context.after(() => {
    restore("LANYARD_SOCKET", socket);
    restore("XDG_RUNTIME_DIR", runtime);
  });
  process.env["LANYARD_SOCKET"] = "/tmp/some.sock";
  process.env["XDG_RUNTIME_DIR"] = "/run/user/7";
  assert.equal(defaultSocketPath(), "/tmp/some.sock");
  process.env["LANYARD_SOCKET"] = "run/agent.sock";
  assert.throws(defaultSocketPath, AgentNotRunningError);
  process.env["LANYARD_SOCKET"] = "";
  assert.equal(defaultSocketPath(), "/run/user/7/lanyard/agent.sock");
});

test("without a session the socket is in a temporary directory of this user alone", (context) => {
  const place = mkdtempSync(join(tmpdir(), "lanyard-"));
  context.after(() => rmSync(place, { recursive: true, force: true }));
  const directory = join(place, `lanyard-${process.geteuid?.()}`);
  assert.equal(privateDirectory(place), directory);
  mkdirSync(directory, { mode: 0o700 });
  assert.equal(privateDirectory(place), directory);
  chmodSync(directory, 0o750);
  assert.throws(() => privateDirectory(place), AgentNotRunningError);
  chmodSync(directory, 0o700);
  renameSync(directory, join(place, "elsewhere"));
  symlinkSync(join(place, "elsewhere"), directory);
  assert.throws(() => privateDirectory(place), AgentNotRunningError);
});

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

test("a wrong answer is an error of this call alone", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("token.get", () => ({ ...TOKEN, accessToken: 7 }));
  agent.on("agent.status", () => ({ ok: true }));
  await assert.rejects(client.token.get({ account: "work" }), ProtocolError);
  assert.deepEqual(await client.call("agent.status"), { ok: true });
  assert.equal(agent.peers.length, 1);
});

test("params that can't be sent leave the connection whole", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("agent.status", () => ({ ok: true }));
  await assert.rejects(client.call("token.get", { account: "\ud800" }), TypeError);
  await assert.rejects(client.call("token.get", { account: 1n }), TypeError);
  await assert.rejects(client.call("token.get", { account: "x".repeat(70_000) }), { name: "requestTooLarge" });
  assert.deepEqual(await client.call("agent.status"), { ok: true });
});

/** Runs a program that has a client, and returns its exit status and output; it is stopped after `ms`. */
function program(body: string, socketPath: string, ms = 10_000): Promise<{ status: number | null; said: string }> {
  const source = `
    import { Client } from ${JSON.stringify(new URL("../src/index.js", import.meta.url).href)};
    const client = new Client({ socketPath: ${JSON.stringify(socketPath)} });
    ${body}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stdout?.on("data", (chunk) => (said += String(chunk)));
  child.stderr?.on("data", (chunk) => (said += String(chunk)));
  const timer = setTimeout(() => child.kill("SIGKILL"), ms);
  return new Promise((resolve) => {
    child.on("close", (status) => {
      clearTimeout(timer);
      resolve({ status, said });
    });
  });
}

test("a client that is idle does not keep the process alive, and one that waits does", async (context) => {
  const { agent } = await scripted(context);
  agent.on("token.get", (request, peer) => void setTimeout(() => peer.answer(request, TOKEN), 150));
  const call = `console.log((await client.token.get({ account: "work" })).fingerprint);`;
  assert.deepEqual(await program(call, agent.path), { status: 0, said: "f1\n" });
  const stream = `const events = await client.events().open(); ${call}`;
  assert.deepEqual(await program(stream, agent.path), { status: 0, said: "f1\n" });
  const waiting = `for await (const event of client.events()) console.log(event.type);`;
  assert.equal((await program(waiting, agent.path, 700)).status, null);
});

test("a call that fails has one rejection to handle, and no other is left", async (context) => {
  const { agent } = await scripted(context);
  const lost = `
    client.call("token.get").catch((error) => console.log(error.name));
    await client.connect();
    client.close();`;
  agent.on("token.get", () => undefined);
  assert.deepEqual(await program(lost, agent.path), { status: 0, said: "clientClosed\n" });
});

test("an unknown error keeps its code and name", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("token.get", () => {
    throw new Fault(7777, "ofLater", { retryable: true });
  });
  await assert.rejects(client.call("token.get"), (error) => {
    assert.ok(error instanceof LanyardError);
    return error.code === 7777 && error.name === "ofLater" && error.retryable;
  });
});
