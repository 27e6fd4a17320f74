// The client against the real agent and the practice provider, if LANYARD_AGENT and LANYARD_DEMO name the programs.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createServer } from "node:http";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import {
  AccountNotFoundError,
  Client,
  ConnectionLostError,
  InvalidParamsError,
  MethodNotFoundError,
  NotPermittedError,
} from "../src/index.js";

const { LANYARD_AGENT: AGENT = "", LANYARD_DEMO: DEMO = "" } = process.env;
const skip = AGENT === "" || DEMO === "" ? "LANYARD_AGENT and LANYARD_DEMO do not name the programs" : false;

const directory = mkdtempSync(join(tmpdir(), "lanyard-"));
const socketPath = join(directory, "run", "lanyard", "agent.sock");
const processes: ChildProcess[] = [];
let client: Client;
const accounts: Record<string, string> = {};

/** Starts a program, and returns the first words on its stdout that match. */
function started(program: string, values: string[], expected?: RegExp): Promise<string> {
  const env = { PATH: process.env["PATH"], HOME: directory, XDG_RUNTIME_DIR: join(directory, "run") };
  const child = spawn(resolve(program), values, { env, stdio: ["pipe", "pipe", "ignore"] });
  processes.push(child);
  let said = "";
  return new Promise((found) => {
    child.stdout?.on("data", (chunk) => {
      said += String(chunk);
      const match = expected?.exec(said);
      if (match) found(match[0]);
    });
    if (!expected) found("");
  });
}

function ended(child: ChildProcess, signal: string): Promise<void> {
  return new Promise((over) => {
    if (child.exitCode !== null || child.signalCode !== null) return over();
    child.on("exit", () => over());
    child.kill(signal);
  });
}

async function startAgent(): Promise<ChildProcess> {
  const options = ["--socket", socketPath, "--state-dir", join(directory, "state")];
  await started(AGENT, [...options, "--no-system-events"]);
  return processes[processes.length - 1] as ChildProcess;
}

/** Signs a person in; the practice provider sends the browser back without asking. */
async function signIn(person: string): Promise<string> {
  const begun = await client.signIn.begin({
    provider: "practice",
    flow: "browser",
    alias: person,
    loginHint: person,
    openBrowser: false,
  });
  const waiting = client.signIn.wait({ signIn: begun.signIn, timeoutSeconds: 30 });
  await (await fetch(String(begun.authorizationUrl))).text();
  const { account } = await waiting;
  assert.ok(account !== undefined);
  return account;
}

if (skip === false) {
  before(async () => {
    mkdirSync(join(directory, "run", "lanyard"), { recursive: true, mode: 0o700 });
  });
  after(async () => {
    client.close();
    for (const child of processes) await ended(child, "SIGTERM");
    rmSync(directory, { recursive: true, force: true });
  });
}
