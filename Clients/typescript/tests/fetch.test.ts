import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { inspect } from "node:util";
import { Client, OriginRefusedError, ReauthenticationRequiredError } from "../src/index.js";
import { FakeAgent, Fault, TOKEN } from "./fake-agent.js";

interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string | undefined>;
  readonly body: string;
}
type Answer = readonly [status: number, headers?: Record<string, string>];

/** A resource server on loopback. It gives its answers in turn, the last one for ever. */
class Resource {
  readonly received: Received[] = [];
  origin = "";

  static async start(context: TestContext, ...answers: Answer[]): Promise<Resource> {
    const resource = new Resource();
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += String(chunk)));
      request.on("end", () => {
        const { method, url: path, headers } = request;
        resource.received.push({ method, path, headers, body });
        const [status, members = {}] = (answers.length > 1 ? answers.shift() : answers[0]) as Answer;
        response.writeHead(status, members);
        response.end(`answer ${resource.received.length}`);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    resource.origin = `http://127.0.0.1:${server.address().port}`;
    context.after(() => {
      server.close();
      server.closeAllConnections();
    });
    return resource;
  }
}

async function scripted(context: TestContext): Promise<{ agent: FakeAgent; client: Client }> {
  const agent = await FakeAgent.start();
  const client = new Client({ socketPath: agent.path });
  agent.on("token.get", () => TOKEN);
  agent.on("token.reject", () => ({ ...TOKEN, accessToken: "second-token", fingerprint: "f2" }));
  agent.on("token.proof", (request) => {
    const { nonce = "none", fingerprint } = request.params ?? {};
    return { proof: `proof-${String(fingerprint)}-${String(nonce)}`, thumbprint: "t", account: TOKEN.account };
  });
  context.after(async () => {
    client.close();
    await agent.stop();
  });
  return { agent, client };
}

test("the token is sent beside the caller's headers, and in place of their own", async (context) => {
  const { client } = await scripted(context);
  const resource = await Resource.start(context, [200]);
  const api = client.fetcher({ account: "work", origins: [resource.origin] });
  const headers = { Authorization: "Basic x", "X-Trace": "1" };
  const response = await api(new Request(`${resource.origin}/me?q=1`, { method: "POST", body: "b", headers }));
  assert.equal(await response.text(), "answer 1");
  const { method, path, headers: sent, body } = resource.received[0] as Received;
  assert.deepEqual([method, path, body, sent["x-trace"]], ["POST", "/me?q=1", "b", "1"]);
  assert.equal(sent["authorization"], "Bearer secret-access-token");
});

test("a 401 is reported, and the request is sent once more", async (context) => {
  const { agent, client } = await scripted(context);
  const resource = await Resource.start(context, [401, { "www-authenticate": 'Bearer error="invalid_token"' }]);
  const api = client.fetcher({ account: "@active", origins: [resource.origin] });
  const response = await api(resource.origin, { method: "PUT", body: new URLSearchParams({ a: "1" }) });
  assert.equal(response.status, 401);
  assert.equal(await response.text(), "answer 2");
  assert.deepEqual(resource.received.map(({ body }) => body), ["a=1", "a=1"]);
  assert.equal(resource.received[1]?.headers["authorization"], "Bearer second-token");
  assert.deepEqual(agent.requests("token.reject").map(({ params }) => params), [
    { account: "acc_alice", fingerprint: "f1", challenge: 'Bearer error="invalid_token"' },
  ]);
});

test("a stream is not sent again", async (context) => {
  const { agent, client } = await scripted(context);
  const resource = await Resource.start(context, [401]);
  const api = client.fetcher({ account: "work", origins: [resource.origin] });
  const body = new Blob(["streamed"]).stream();
  assert.equal((await api(resource.origin, { method: "POST", body })).status, 401);
  assert.deepEqual(resource.received.map(({ body: sent }) => sent), ["streamed"]);
  assert.equal(agent.requests("token.reject").length, 1);
});

test("other origins are refused before the agent is asked", async (context) => {
  const { agent, client } = await scripted(context);
  const api = client.fetcher({ account: "work", origins: ["https://api.example", "http://[::1]:8080/"] });
  for (const url of [
    "https://api.example:444/",
    "http://api.example/",
    "https://api.example.evil.example/",
    "https://user:secret@api.example/",
    "http://[::1]/",
    "no url: secret",
  ]) {
    const isSafe = (error: unknown): boolean => !inspect(error).includes("secret");
    await assert.rejects(api(url), (error) => error instanceof OriginRefusedError && isSafe(error));
  }
  for (const origin of ["http://api.example", "https://api.example/path", "ftp://127.0.0.1", "https://me@a.example"]) {
    assert.throws(() => client.fetcher({ account: "work", origins: [origin] }), OriginRefusedError);
  }
  assert.equal(agent.received.length, 0);
});

test("a redirect within the origin carries the token, one to another origin and back does not", async (context) => {
  const { client } = await scripted(context);
  const other = await Resource.start(context, [307, { location: "/again" }], [200]);
  const resource = await Resource.start(
    context,
    [302, { location: "/moved" }],
    [303, { location: `${other.origin}/away` }],
  );
  const origins = [resource.origin, other.origin];
  const api = client.fetcher({ account: "work", origins });
  const headers = { cookie: "c=1", "x-trace": "1" };
  assert.equal((await api(`${resource.origin}/#part`, { method: "POST", body: "b", headers })).status, 200);
  assert.deepEqual(resource.received.map(({ method, path, body }) => [method, path, body]), [
    ["POST", "/", "b"],
    ["GET", "/moved", ""],
  ]);
  assert.equal(resource.received[1]?.headers["authorization"], "Bearer secret-access-token");
  assert.deepEqual(other.received.map(({ path }) => path), ["/away", "/again"]);
  for (const { headers: sent } of other.received) {
    assert.deepEqual([sent["authorization"], sent["cookie"], sent["x-trace"]], [undefined, undefined, "1"]);
  }
});

test("`redirect` is obeyed", async (context) => {
  const { client } = await scripted(context);
  const resource = await Resource.start(context, [302, { location: "/moved" }]);
  const api = client.fetcher({ account: "work", origins: [resource.origin] });
  assert.equal((await api(resource.origin, { redirect: "manual" })).headers.get("location"), "/moved");
  await assert.rejects(api(resource.origin, { redirect: "error" }), TypeError);
  await assert.rejects(api(resource.origin), TypeError);
  assert.equal(resource.received.length, 2 + 21);
});

test("a bound token gets a proof for each request, with the server's nonce", async (context) => {
  const { agent, client } = await scripted(context);
  agent.on("token.get", () => ({ ...TOKEN, tokenType: "DPoP" }));
  agent.on("token.reject", () => ({ ...TOKEN, tokenType: "DPoP", accessToken: "second-token", fingerprint: "f2" }));
  const refusal = { "www-authenticate": 'DPoP error="use_dpop_nonce"', "dpop-nonce": "n1" };
  const resource = await Resource.start(context, [401, refusal], [401], [200, { "dpop-nonce": "n2" }], [200]);
  const api = client.fetcher({ account: "work", origins: [resource.origin] });
  assert.equal((await api(`${resource.origin}/me`, { method: "post", body: "b" })).status, 200);
  assert.equal((await api(`${resource.origin}/me`)).status, 200);
  const proofs = resource.received.map(({ headers }) => [headers["authorization"], headers["dpop"]]);
  assert.deepEqual(proofs, [
    ["DPoP secret-access-token", "proof-f1-none"],
    ["DPoP secret-access-token", "proof-f1-n1"],
    ["DPoP second-token", "proof-f2-n1"],
    ["DPoP secret-access-token", "proof-f1-n2"],
  ]);
  const { method, url, account } = agent.requests("token.proof")[0]?.params ?? {};
  assert.deepEqual([method, url, account], ["POST", `${resource.origin}/me`, "work"]);
});

test("without a token nothing is sent, and a signal ends the wait for one", async (context) => {
  const { agent, client } = await scripted(context);
  const resource = await Resource.start(context, [200]);
  const origins = [resource.origin];
  const api = client.fetcher({ account: "work", origins, scopes: ["a"], resource: "https://r.example" });
  agent.on("token.get", () => {
    throw new Fault(2004, "reauthenticationRequired");
  });
  await assert.rejects(api(resource.origin), ReauthenticationRequiredError);
  const wanted = { account: "work", scopes: ["a"], resource: "https://r.example" };
  assert.deepEqual(agent.requests("token.get")[0]?.params, wanted);
  agent.on("token.get", () => undefined);
  const controller = new AbortController();
  const sent = api(resource.origin, { signal: controller.signal });
  await agent.waitFor("token.get", 2);
  controller.abort();
  await assert.rejects(sent, { name: "AbortError" });
  await agent.waitFor("$/cancel");
  assert.equal(resource.received.length, 0);
});

test("a token that no header takes is not quoted in the error", async (context) => {
  const { agent, client } = await scripted(context);
  const resource = await Resource.start(context, [200]);
  agent.on("token.get", () => ({ ...TOKEN, accessToken: "secret\r\nX-Evil: 1" }));
  const api = client.fetcher({ account: "work", origins: [resource.origin] });
  await assert.rejects(api(resource.origin), (error) => !inspect(error).includes("secret"));
  assert.equal(resource.received.length, 0);
});
