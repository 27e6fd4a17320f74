// The README's examples, run one by one against a scripted agent, and checked by the compiler as a user's program.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { FakeAgent, Fault, TOKEN } from "./fake-agent.js";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));

/** The blocks of TypeScript, under their headings. */
function examples(): Map<string, string> {
  const text = readFileSync(join(PACKAGE, "README.md"), "utf8");
  const found = new Map<string, string>();
  let heading = "";
  for (const [, line, block] of text.matchAll(/^#+ ([^\n]+)$|^```ts\n([^]*?)^```$/gm)) {
    heading = line ?? heading;
    if (block !== undefined) found.set(`${heading} ${found.size + 1}`, block);
  }
  return found;
}

type Outcome = [status: number | null, said: string];

function run(program: string, values: string[], env: Record<string, string | undefined>): Promise<Outcome> {
  const child = spawn(program, values, { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stdout?.on("data", (chunk) => (said += String(chunk)));
  child.stderr?.on("data", (chunk) => (said += String(chunk)));
  return new Promise((resolve) => child.on("close", (status) => resolve([status, said])));
}

/** A project that has the package installed, with the examples as its programs. */
async function project(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "lanyard-"));
  const installed = join(directory, "node_modules", "lanyard");
  mkdirSync(installed, { recursive: true });
  cpSync(join(PACKAGE, "package.json"), join(installed, "package.json"));
  const built = await run("tsc", ["--project", PACKAGE, "--outDir", join(installed, "dist")], process.env);
  assert.deepEqual(built, [0, ""]);
  writeFileSync(join(directory, "package.json"), '{ "type": "module" }');
  const compilerOptions = {
    strict: true,
    target: "ES2022",
    module: "Node16",
    moduleResolution: "Node16",
    lib: ["ES2022", "DOM"],
    types: [],
  };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  for (const [name, source] of examples()) writeFileSync(join(directory, `${name}.ts`), source);
  for (const name of ["watch.ts", "whoami.ts"]) cpSync(join(PACKAGE, "examples", name), join(directory, name));
  return directory;
}

function script(agent: FakeAgent): void {
  agent.on("token.get", (request) => {
    if (request.params?.["account"] !== "retired") return TOKEN;
    const data = { account: "acc_retired", reason: "outcomeUnknown", remedies: ["reauthenticate"] };
    throw new Fault(2004, "reauthenticationRequired", data);
  });
  agent.on("event.subscribe", (request, peer) => {
    peer.subscription = "sub-1";
    peer.answer(request, { subscription: "sub-1", epoch: "epoch-1", sequence: 0, gap: false });
    peer.event(1, "session.expired", { account: "acc_alice", data: { reason: "revoked" } });
    peer.event(2, "event.gap");
    peer.event(3, "account.switched");
  });
  const account = { ...TOKEN, id: "acc_alice", alias: "alice", provider: "practice", subject: "1", state: "active" };
  const accounts = [{ ...account, active: true, createdAt: "2030-01-01T00:00:00.000Z" }];
  agent.on("account.list", () => ({ accounts, active: "acc_alice" }));
  const begun = { signIn: "s1", flow: "device", expiresAt: "2030-01-01T00:00:00.000Z" };
  agent.on("signIn.begin", () => ({ ...begun, verificationUri: "https://idp.example/device", userCode: "ABCD-EFGH" }));
  agent.on("signIn.wait", () => ({ status: "completed", account: "acc_alice" }));
}

const PRINTED: Record<string, string> = {
  Errors: "acc_retired outcomeUnknown [ 'reauthenticate' ]\n",
  Events: "acc_alice has to sign in again: revoked\nsomething was missed: look at everything again\n",
  whoami: "* alice: a token for 300 s\n",
  "Signing in": "Open https://idp.example/device and enter ABCD-EFGH\nSigned in: acc_alice\n",
};

test("the examples of the README compile as a user's programs, and run", async (context) => {
  const directory = await project();
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  assert.ok(examples().size >= 7);
  assert.deepEqual(await run("tsc", ["--project", directory], process.env), [0, ""]);
  // Nothing of the test's machine answers at the address of `Requests`.
  const names = [...examples().keys(), "whoami"].filter((name) => !name.startsWith("Requests"));
  await Promise.all(
    names.map(async (name) => {
      const agent = await FakeAgent.start();
      context.after(() => agent.stop());
      script(agent);
      const env = { ...process.env, LANYARD_SOCKET: agent.path };
      const outcome = await run(process.execPath, [join(directory, `${name}.js`)], env);
      assert.deepEqual(outcome, [0, PRINTED[name.replace(/ \d+$/, "")] ?? ""], name);
    }),
  );
});
