import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { AgentNotRunningError, Client, ConnectionLostError, InvalidParamsError } from "../src/index.js";
import type { EventStream, LanyardEvent } from "../src/index.js";
import { FakeAgent, Fault } from "./fake-agent.js";
import type { Peer } from "./fake-agent.js";

async function subscribed(context: TestContext): Promise<{ agent: FakeAgent; client: Client; stream: EventStream }> {
  const agent = await FakeAgent.start();
  const client = new Client({ socketPath: agent.path });
  context.after(async () => {
    client.close();
    await agent.stop();
  });
  return { agent, client, stream: await client.events().open() };
}

async function next(stream: EventStream): Promise<LanyardEvent> {
  const { done, value } = await stream.next();
  assert.ok(!done);
  return value;
}

const peerOf = (agent: FakeAgent): Peer => agent.peers[agent.peers.length - 1] as Peer;

test("a loop over events, with the data of their types", async (context) => {
  const { agent, stream } = await subscribed(context);
  const data = { generation: 8, expiresAt: "2030-01-01T00:05:00.000Z" };
  peerOf(agent).event(1, "token.refreshed", { data, account: "acc_1" });
  peerOf(agent).event(2, "of.later", { data: { x: 1 } });
  peerOf(agent).event(3, "session.expired", { data: { odd: true } });
  const seen: unknown[] = [];
  for await (const event of stream) {
    if (event.type === "token.refreshed") seen.push(event.account, event.data.expiresAt.getTime());
    else seen.push(event.type, event.data);
    if (event.type === "session.expired") break;
  }
  assert.deepEqual(seen, ["acc_1", Date.UTC(2030, 0, 1, 0, 5), "of.later", { x: 1 }, "session.expired", { odd: true }]);
  assert.deepEqual((await agent.waitFor("event.unsubscribe")).params, { subscription: "sub-1" });
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
});

test("the stream resumes after its last event, and drops what it has", async (context) => {
  const { agent, stream } = await subscribed(context);
  peerOf(agent).event(1);
  peerOf(agent).event(2);
  assert.deepEqual([(await next(stream)).sequence, (await next(stream)).sequence], [1, 2]);
  await agent.die();
  const waiting = next(stream);
  await agent.listen();
  assert.deepEqual((await agent.waitFor("event.subscribe", 2)).params, { since: { epoch: "epoch-1", sequence: 2 } });
  for (const sequence of [1, 2, 3]) peerOf(agent).event(sequence);
  assert.equal((await waiting).sequence, 3);
  assert.deepEqual(stream.position, { epoch: "epoch-1", sequence: 3 });
});

test("another epoch is one gap", async (context) => {
  const { agent, stream } = await subscribed(context);
  peerOf(agent).event(5);
  await next(stream);
  const answer = { subscription: "sub-9", epoch: "epoch-2", sequence: 2 };
  agent.on("event.subscribe", (_, peer) => {
    peer.subscription = "sub-9";
    return answer;
  });
  peerOf(agent).close();
  const gap = await next(stream);
  assert.deepEqual([gap.type, gap.data, stream.position], ["event.gap", {}, { epoch: "epoch-2", sequence: 2 }]);
});

test("events that are asked for at once come in their order", async (context) => {
  const { agent, stream } = await subscribed(context);
  const asked = [next(stream), next(stream), next(stream)];
  for (const sequence of [1, 2, 3]) peerOf(agent).event(sequence);
  assert.deepEqual((await Promise.all(asked)).map((event) => event.sequence), [1, 2, 3]);
});

test("close and the client's close end a waiting next()", async (context) => {
  const { client, stream } = await subscribed(context);
  const waiting = stream.next();
  const other = client.events();
  const otherWaiting = other.next();
  await stream.close();
  assert.equal((await waiting).done, true);
  client.close();
  assert.equal((await otherWaiting).done, true);
  assert.equal((await client.events().next()).done, true);
});

test("a signal ends the stream with its reason", async (context) => {
  const { agent, client } = await subscribed(context);
  const controller = new AbortController();
  const stream = client.events({ signal: controller.signal });
  const waiting = stream.next();
  await agent.waitFor("event.subscribe", 2);
  controller.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  await agent.waitFor("event.unsubscribe");
  assert.equal((await stream.next()).done, true);
});

test("a refused subscription is an error, and so is an agent that is not there", async (context) => {
  const { agent, client } = await subscribed(context);
  agent.on("event.subscribe", () => {
    throw new Fault(-32602, "invalidParams");
  });
  await assert.rejects(client.events({ types: ["x"] }).open(), InvalidParamsError);
  await agent.die();
  // On a busy machine the client learns of the end by its first request.
  const lost = (error: unknown) => {
    if (error instanceof ConnectionLostError) return client.events().next();
    throw error;
  };
  await assert.rejects(client.events().next().catch(lost), AgentNotRunningError);
});

test("without `reconnect` the end of the connection is an error", async (context) => {
  const { agent, client } = await subscribed(context);
  const stream = await client.events({ reconnect: false }).open();
  const waiting = stream.next();
  await agent.die();
  await assert.rejects(waiting, ConnectionLostError);
  assert.equal((await stream.next()).done, true);
});
