// The client against the real agent and the practice provider, if LANYARD_AGENT and LANYARD_DEMO name the programs.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import {
  AccountNotFoundError,
  CallTimeoutError,
  Client,
  ConnectionLostError,
  InvalidParamsError,
  MethodNotFoundError,
  NotPermittedError,
} from "../src/index.js";

const isNamed = process.env["LANYARD_AGENT"] && process.env["LANYARD_DEMO"];
const options = { skip: isNamed ? false : "LANYARD_AGENT and LANYARD_DEMO do not name the programs", timeout: 60_000 };

interface Stage {
  readonly socket: string;
  readonly issuer: string;
  readonly alice: string;
  readonly bob: string;
}

let stage: Stage;
let client: Client;
let tell: (word: "kill" | "start") => Promise<string>;
let finish: () => Promise<void>;

if (isNamed) {
  before(async () => {
    const program = fileURLToPath(new URL("../../tests/real_agent.py", import.meta.url));
    const child = spawn("python3", [program], { stdio: ["pipe", "pipe", "inherit"] });
    const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
    const lines: string[] = [];
    const waiting: ((line: string) => void)[] = [];
    let rest = "";
    child.stdout?.on("data", (chunk) => {
      const found = (rest + String(chunk)).split("\n");
      rest = found.pop() ?? "";
      for (const line of found) (waiting.shift() ?? ((kept: string) => lines.push(kept)))(line);
    });
    const next = (): Promise<string> =>
      new Promise((resolve) => {
        const line = lines.shift();
        if (line === undefined) waiting.push(resolve);
        else resolve(line);
      });
    tell = (word) => {
      child.stdin?.write(word + "\n");
      return next();
    };
    finish = () => {
      client.close();
      child.stdin?.end();
      return ended;
    };
    stage = JSON.parse(await next()) as Stage;
    client = new Client({ socketPath: stage.socket, timeoutMs: 20_000 });
  });
  after(() => finish());
}

test("both accounts are listed", options, async () => {
  const { protocol, limits } = await client.connect();
  assert.deepEqual([protocol, limits.lineBytes, limits.requestsInFlight], ["1", 65536, 128]);
  const { accounts } = await client.account.list();
  assert.deepEqual(new Set(accounts.map(({ id }) => id)), new Set([stage.alice, stage.bob]));
  assert.deepEqual(accounts.map(({ alias }) => alias).sort(), ["alice", "bob"]);
});

test("a cached token is the same for all callers", options, async () => {
  const first = await client.token.get({ account: "alice" });
  const tokens = await Promise.all(Array.from({ length: 300 }, () => client.token.get({ account: stage.alice })));
  assert.deepEqual(new Set(tokens.map(({ fingerprint }) => fingerprint)), new Set([first.fingerprint]));
  assert.ok(first.expiresAt.getTime() > Date.now());
  assert.ok(!inspect(first, { showHidden: true }).includes(first.accessToken));
});

test("the HTTP helper replaces a token that a server refuses", options, async (context) => {
  const sent: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    sent.push(request.headers["authorization"]);
    response.writeHead(sent.length > 1 ? 200 : 401, { "www-authenticate": 'Bearer error="invalid_token"' }).end("");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${server.address().port}`;
  const response = await client.fetcher({ account: "alice", origins: [origin] })(`${origin}/me`);
  assert.equal(response.status, 200);
  assert.equal(sent.length, 2);
  assert.notEqual(sent[0], sent[1]);
});

test("errors are their classes", options, async () => {
  await assert.rejects(client.token.get({ account: "nobody" }), AccountNotFoundError);
  await assert.rejects(client.call("token.steal"), MethodNotFoundError);
  const isAt = (path: string) => (error: unknown) => error instanceof InvalidParamsError && error.path === path;
  await assert.rejects(client.call("token.get"), isAt("/account"));
  await assert.rejects(client.call("token.get", { account: "alice", hush: 1 }), isAt("/hush"));
});

test("a grant limits the client", options, async (context) => {
  const { secret } = await client.grant.create({ client: "test", accounts: ["alice"], methods: ["token.get"] });
  const limited = new Client({ socketPath: stage.socket, grant: secret });
  context.after(() => limited.close());
  assert.equal((await limited.token.get({ account: "alice" })).account, stage.alice);
  await assert.rejects(limited.token.get({ account: "bob" }), NotPermittedError);
});

test("time-outs and cancels leave the connection whole", options, async () => {
  const begun = await client.signIn.begin({ provider: "practice", flow: "browser", openBrowser: false });
  const wait = { signIn: begun.signIn, timeoutSeconds: 30 };
  await assert.rejects(client.signIn.wait(wait, { timeoutMs: 50 }), CallTimeoutError);
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 50);
  await assert.rejects(client.signIn.wait(wait, { signal: controller.signal }), { name: "AbortError" });
  await client.signIn.cancel({ signIn: begun.signIn });
});

test("a body of 700 KiB goes there and back", options, async () => {
  const value = "ü".repeat(350 << 10);
  await client.secret.put({ account: "bob", name: "test/long", value });
  assert.equal((await client.secret.get({ account: "bob", name: "test/long" })).value, value);
  await client.secret.remove({ account: "bob", name: "test/long" });
});

test("a killed agent: calls fail, and the stream goes on with the next one", options, async () => {
  const stream = await client.events({ types: ["token.refreshed"] }).open();
  const { generation } = await client.token.refresh({ account: "bob" });
  const first = await stream.next();
  assert.ok(!first.done && first.value.type === "token.refreshed");
  assert.deepEqual([first.value.account, first.value.data.generation], [stage.bob, generation]);
  const begun = await client.signIn.begin({ provider: "practice", flow: "browser", openBrowser: false });
  const waiting = assert.rejects(client.signIn.wait({ signIn: begun.signIn }), ConnectionLostError);
  const next = stream.next();
  await tell("kill");
  await waiting;
  await tell("start");
  assert.equal((await next).value?.type, "event.gap");
  await client.token.refresh({ account: "bob" });
  assert.equal((await stream.next()).value?.type, "token.refreshed");
  await stream.close();
});
