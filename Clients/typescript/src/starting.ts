import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
} from "node:fs";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { dial, notRunning } from "./dialing.js";
import { AgentStartFailedError } from "./errors.js";
import type { Limit } from "./limit.js";

/** A start takes milliseconds; a slow disk or a key derivation may take seconds. */
const PATIENCE_MS = 10_000;

const PAUSE_MS = 4;

/**
 * The pause before another launch while another agent holds the state, doubling: that agent may have lost its socket, and end. If another
 * program started it, it will listen, and no launch is needed.
 */
const FIRST_HANDOVER_MS = 30;
const LONGEST_HANDOVER_MS = 500;

/** A larger log is renamed to `agent.log.old` when the next agent starts. */
const LARGEST_LOG_BYTES = 1 << 20;

const LOG_LINES = 3;
const LOG_TAIL_BYTES = 2_000;

/** The environment of a new agent, the same that a command gives it. The agent outlives this program. */
const KEPT_VARIABLES = [
  ...["ALL_PROXY", "CURL_CA_BUNDLE", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "HTTPS_PROXY", "LANG"],
  ...["LANYARD_STATE_DIR", "LC_ALL", "LC_CTYPE", "NO_PROXY", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE"],
  ...["WAYLAND_DISPLAY", "XAUTHORITY", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"],
  ...["all_proxy", "http_proxy", "https_proxy", "no_proxy"],
];

const USUAL_PATH = "/usr/local/bin:/usr/bin:/bin";

const ENDS = new Map([
  [64, "the agent did not accept its options or its configuration file (exit 64)"],
  [73, "a directory of the agent can't be created, or others may write to it (exit 73)"],
  [74, "the agent's store can't be read or written (exit 74); nothing was lost"],
  [75, "another agent holds this state directory (exit 75)"],
  [76, "the agent can't open its vault (exit 76): the key is wrong, or the store is damaged, old, foreign, or gone"],
]);
const ALREADY_RUNNING = 75;

/** True if `LANYARD_NO_START` is set to anything but `0`. */
export function startingIsForbidden(): boolean {
  return !["", "0"].includes(process.env["LANYARD_NO_START"] ?? "");
}

/**
 * Connects to the agent at `path`, and starts one where no process listens.
 *
 * Node has no `flock`, so the start takes no lock. Of several agents that start for one state, all but one end with 75:
 * then another program's start has won, and the client waits for that agent.
 *
 * @throws `AgentStartFailedError`, or the reason of `limit`.
 */
export async function dialOrStart(path: string, limit: Limit): Promise<Socket> {
  const beganAt = Date.now();
  let launch: Launch | undefined;
  let launches = 0;
  let launchAt = beganAt;
  try {
    for (;;) {
      const dialed = await dial(path);
      if (dialed.socket) {
        if (!limit.ended) return dialed.socket;
        dialed.socket.destroy();
        throw limit.ended.reason;
      }
      if (!dialed.isBusy && !dialed.isAbsent) throw notRunning(path, dialed.code);
      const now = Date.now();
      if (launch?.isAlreadyRunning && now - beganAt < PATIENCE_MS) {
        launch.close();
        launch = undefined;
        launchAt = now + Math.min(FIRST_HANDOVER_MS * 2 ** (launches - 1), LONGEST_HANDOVER_MS);
      }
      if (launch?.whyEnded !== undefined) throw failure(launch.whyEnded + launch.told());
      if (now - beganAt > PATIENCE_MS) {
        throw failure(`no agent answered within ${PATIENCE_MS / 1000} s${launch?.told() ?? ""}`);
      }
      if (dialed.isAbsent === true && !launch && now >= launchAt) {
        if (launches === 0) makeSocketDirectory(dirname(path));
        launches += 1;
        launch = new Launch(path);
      }
      await limit.pause(PAUSE_MS);
    }
  } finally {
    launch?.close();
  }
}

/** One process of the agent. It outlives this program. */
class Launch {
  whyEnded: string | undefined;
  isAlreadyRunning = false;
  readonly #log = new Log();
  readonly #process: ChildProcess;

  constructor(path: string) {
    const program = agentProgram();
    if (program === undefined) {
      this.#log.close();
      throw failure("the program lanyard-agent is not in PATH");
    }
    const kept = KEPT_VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
    this.#process = spawn(program, ["--socket", path], {
      cwd: "/",
      detached: true,
      env: Object.fromEntries(kept),
      stdio: ["ignore", "ignore", this.#log.descriptor ?? "ignore"],
    });
    this.#process.on("error", (error) => (this.whyEnded = `${program} can't be run: ${whyNotRun(program, error)}`));
    this.#process.on("exit", (status, signal) => {
      this.isAlreadyRunning = status === ALREADY_RUNNING;
      this.whyEnded ??=
        signal !== null
          ? `signal ${signal} ended the agent at once`
          : ENDS.get(status ?? 0) ?? `the agent ended at once (exit ${status ?? 0})`;
    });
    this.#process.unref();
  }

  /** The agent's last words. */
  told(): string {
    return this.#log.told();
  }

  close(): void {
    this.#log.close();
  }
}

/** `agent.log` in the state directory: the stderr of an agent that a program started. Only this user can read it. */
class Log {
  descriptor: number | undefined;
  readonly #path: string = "";
  readonly #beganAt: number = 0;

  constructor() {
    const directory = stateDirectory();
    if (directory === undefined) return;
    this.#path = join(directory, "agent.log");
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      setAside(this.#path);
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
      this.descriptor = openSync(this.#path, flags, 0o600);
      this.#beganAt = fstatSync(this.descriptor).size;
    } catch {
      // An agent without a log is better than none.
    }
  }

  /** The last lines that the agent wrote since its start, and the path of the log; empty if there are none. */
  told(): string {
    if (this.descriptor === undefined) return "";
    const { size } = fstatSync(this.descriptor);
    const bytes = Math.min(size - this.#beganAt, LOG_TAIL_BYTES);
    if (bytes <= 0) return "";
    const tail = Buffer.alloc(bytes);
    const read = readSync(this.descriptor, tail, 0, bytes, size - bytes);
    const lines = tail.toString("utf8", 0, read).split("\n").filter(Boolean);
    return `; it said: ${lines.slice(-LOG_LINES).join(" ")} (more in ${this.#path})`;
  }

  close(): void {
    if (this.descriptor !== undefined) closeSync(this.descriptor);
    this.descriptor = undefined;
  }
}

/**
 * The path of `lanyard-agent` in `PATH`. Skips relative entries: the choice must not depend on the working directory.
 */
function agentProgram(): string | undefined {
  return (process.env["PATH"] || USUAL_PATH)
    .split(":")
    .filter((place) => place.startsWith("/"))
    .map((place) => join(place, "lanyard-agent"))
    .find(isExecutable);
}

/** Knows a program that is there while the dynamic linker of glibc that it names is not. */
function whyNotRun(program: string, error: NodeJS.ErrnoException): string {
  return error.code === "ENOENT" && isExecutable(program)
    ? "it needs glibc, which is not here, or not in its usual place; systems with musl, as Alpine, are not supported yet"
    : (error.code ?? "");
}

function isExecutable(program: string): boolean {
  try {
    accessSync(program, constants.X_OK);
    return statSync(program).isFile();
  } catch {
    return false;
  }
}

/** `$LANYARD_STATE_DIR`, else `$XDG_STATE_HOME/lanyard`, else `~/.local/state/lanyard`. */
function stateDirectory(): string | undefined {
  const { LANYARD_STATE_DIR: explicit, XDG_STATE_HOME: states, HOME: home } = process.env;
  if (explicit) return explicit;
  if (states) return join(states, "lanyard");
  return home ? join(home, ".local", "state", "lanyard") : undefined;
}

function setAside(log: string): void {
  try {
    if (lstatSync(log).size > LARGEST_LOG_BYTES) renameSync(log, `${log}.old`);
  } catch {
    // There is no log yet.
  }
}

function makeSocketDirectory(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    throw failure(`the directory ${directory} for its socket can't be written: ${code ?? ""}`);
  }
}

function failure(reason: string): AgentStartFailedError {
  return new AgentStartFailedError(`no agent runs, and none could be started: ${reason}`);
}
