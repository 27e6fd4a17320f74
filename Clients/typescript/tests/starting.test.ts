import assert from "node:assert/strict";
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { AgentNotRunningError, AgentStartFailedError, Client } from "../src/index.js";
import { HELLO } from "./fake-agent.js";

const SERVE = `
import { appendFileSync, existsSync, mkdirSync } from "node:fs";
import { createServer } from "node:net";
const path = process.argv[process.argv.indexOf("--socket") + 1];
const state = process.env.LANYARD_STATE_DIR;
appendFileSync(state + "/starts", JSON.stringify({ env: process.env, cwd: process.cwd(), pid: process.pid }) + "\\n");
try { mkdirSync(state + "/held"); } catch { process.exit(75); }
createServer((socket) => socket.on("data", (data) => {
  for (const line of String(data).split("\\n").filter(Boolean)) {
    const { id } = JSON.parse(line);
    socket.write(JSON.stringify({ jsonrpc: "2.0", id, result: ${JSON.stringify(HELLO)} }) + "\\n");
  }
})).listen(path);
setTimeout(() => process.exit(0), 20_000);
`;

const ENVIRONMENT = ["LANYARD_NO_START", "LANYARD_SOCKET", "LANYARD_STATE_DIR", "PATH", "SECRET", "XDG_RUNTIME_DIR"];

/** A `PATH` with a program `lanyard-agent`, and directories of the test's own. */
function installed(context: TestContext, source: string | undefined): { directory: string; starts: () => string[] } {
  const before = ENVIRONMENT.map((name) => [name, process.env[name]] as const);
  const directory = mkdtempSync(join(tmpdir(), "lanyard-"));
  for (const name of ["bin", "runtime", "state"]) mkdirSync(join(directory, name), { mode: 0o700 });
  const starts = (): string[] => {
    const path = join(directory, "state", "starts");
    return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  };
  if (source !== undefined) {
    writeFileSync(join(directory, "bin", "agent.mjs"), source);
    const program = `#!/bin/sh\nexec "${process.execPath}" "${join(directory, "bin", "agent.mjs")}" "$@"\n`;
    writeFileSync(join(directory, "bin", "lanyard-agent"), program);
    chmodSync(join(directory, "bin", "lanyard-agent"), 0o755);
  }
  Object.assign(process.env, {
    LANYARD_NO_START: "0",
    LANYARD_STATE_DIR: join(directory, "state"),
    PATH: `relative:${join(directory, "bin")}:/usr/bin:/bin`,
    SECRET: "not-a-real-secret",
    XDG_RUNTIME_DIR: join(directory, "runtime"),
  });
  delete process.env["LANYARD_SOCKET"];
  context.after(() => {
    for (const start of starts()) end((JSON.parse(start) as { pid: number }).pid);
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    rmSync(directory, { recursive: true, force: true });
  });
  return { directory, starts };
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // It has ended already.
  }
}

function opened(context: TestContext, options = {}): Client {
  const client = new Client(options);
  context.after(() => client.close());
  return client;
}

test("the client starts an agent where none runs", async (context) => {
  const { directory, starts } = installed(context, SERVE);
  assert.equal((await opened(context).connect()).instance, "instance-1");
  await opened(context).connect();
  assert.equal(starts().length, 1);
  const { env, cwd } = JSON.parse(starts()[0] ?? "") as { env: Record<string, string>; cwd: string };
  assert.deepEqual([env["SECRET"], env["LANYARD_STATE_DIR"], cwd], [undefined, join(directory, "state"), "/"]);
  assert.equal(lstatSync(join(directory, "runtime", "lanyard")).mode & 0o777, 0o700);
  assert.equal(lstatSync(join(directory, "state", "agent.log")).mode & 0o777, 0o600);
});

test("of two starts one wins, and both clients are served", async (context) => {
  const { starts } = installed(context, SERVE);
  const hellos = await Promise.all([opened(context), opened(context)].map((client) => client.connect()));
  assert.deepEqual(hellos.map((hello) => hello.instance), ["instance-1", "instance-1"]);
  assert.ok(starts().length >= 1);
});

test("many calls of one client start one agent", async (context) => {
  const { starts } = installed(context, SERVE);
  const client = opened(context);
  await Promise.all(Array.from({ length: 20 }, () => client.call("agent.status")));
  assert.equal(starts().length, 1);
});

test("the agent's last words are in the error", async (context) => {
  installed(context, `console.error("lanyard-agent: the key\\nis wrong"); process.exit(76);`);
  await assert.rejects(opened(context).connect(), (error) => {
    assert.ok(error instanceof AgentStartFailedError);
    assert.ok(!error.retryable);
    return /exit 76.*it said: lanyard-agent: the key is wrong \(more in .*agent\.log\)/.test(error.message);
  });
});

test("an agent that is not installed, or can't be run, is told", async (context) => {
  const { directory } = installed(context, undefined);
  process.env["PATH"] = join(directory, "bin");
  await assert.rejects(opened(context).connect(), (error) => /not in PATH/.test(String(error)));
  writeFileSync(join(directory, "bin", "lanyard-agent"), "#!/no/such/program\n");
  chmodSync(join(directory, "bin", "lanyard-agent"), 0o755);
  await assert.rejects(opened(context).connect(), (error) => /lanyard-agent can't be run: it needs glibc/.test(String(error)));
});

test("nothing is started where that is forbidden", async (context) => {
  const { directory, starts } = installed(context, SERVE);
  await assert.rejects(opened(context, { start: false }).connect(), AgentNotRunningError);
  await assert.rejects(opened(context, { socketPath: join(directory, "other.sock") }).connect(), AgentNotRunningError);
  process.env["LANYARD_NO_START"] = "1";
  await assert.rejects(opened(context, { start: true }).connect(), AgentNotRunningError);
  assert.deepEqual(starts(), []);
});

test("a client that is closed, or gives up, leaves no start behind it that waits", async (context) => {
  installed(context, `setTimeout(() => {}, 3_000);`);
  const client = opened(context);
  await assert.rejects(client.call("agent.status", {}, { timeoutMs: 50 }), { name: "callTimeout" });
  const call = client.call("agent.status");
  client.close();
  await assert.rejects(call, { name: "clientClosed" });
});
