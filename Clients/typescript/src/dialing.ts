import { lstatSync, realpathSync, statSync } from "node:fs";
import { createConnection } from "node:net";
import type { Socket } from "node:net";
import { dirname } from "node:path";
import { AgentNotRunningError, UntrustedAgentError } from "./errors.js";

/** The longest path of a unix socket on Linux (`sun_path` without its final zero). Node cuts a longer one. */
const MAXIMUM_PATH_BYTES = 107;

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/** The errors that say that no process listens, so that an agent may be started. */
const NO_AGENT = new Set(["ENOENT", "ECONNREFUSED", "ENOTDIR"]);

/** An attempt to connect: a socket, or why there is none. */
export type Dialed =
  | { readonly socket: Socket }
  /** The agent's queue is full. */
  | { readonly socket?: undefined; readonly isBusy: true; readonly isAbsent?: false }
  | { readonly socket?: undefined; readonly isBusy: false; readonly isAbsent: boolean; readonly code: string };

/**
 * Tries once to connect to a unix socket that only this user, or root, can serve.
 *
 * Node can't ask the kernel for the peer's uid (`SO_PEERCRED`). Instead the owner of the socket and the owner and mode
 * of its directory are checked before and after connecting, before a byte is sent: the socket belongs to this user, and
 * in its directory no other user can put another one in its place.
 *
 * @throws `UntrustedAgentError` - Another user may serve the socket.
 */
export async function dial(path: string): Promise<Dialed> {
  if (Buffer.byteLength(path) > MAXIMUM_PATH_BYTES) {
    return { isBusy: false, isAbsent: false, code: "ENAMETOOLONG" };
  }
  let trusted: string;
  try {
    trusted = checkOwner(path);
  } catch (error) {
    if (error instanceof UntrustedAgentError) throw error;
    return failed((error as NodeJS.ErrnoException).code ?? "");
  }
  const attempt = await connect(path);
  if (!attempt.socket) return attempt;
  let now: string | undefined;
  try {
    now = checkOwner(path);
  } catch (error) {
    attempt.socket.destroy();
    if (error instanceof UntrustedAgentError) throw error;
    return failed((error as NodeJS.ErrnoException).code ?? "");
  }
  if (now === trusted) return attempt;
  // Another agent has taken the place meanwhile: the next attempt connects to that.
  attempt.socket.destroy();
  return { isBusy: true };
}

/** The error for a place where no agent listens. */
export function notRunning(path: string, code: string): AgentNotRunningError {
  return new AgentNotRunningError(`no agent answers at ${path}: ${code}`);
}

function failed(code: string): Dialed {
  if (code === "EAGAIN") return { isBusy: true };
  return { isBusy: false, isAbsent: NO_AGENT.has(code), code };
}

function connect(path: string): Promise<Dialed> {
  return new Promise((resolve) => {
    const socket = createConnection({ path });
    socket.once("error", (error) => {
      socket.destroy();
      resolve(failed(error.code ?? ""));
    });
    socket.once("connect", () => resolve({ socket }));
  });
}

/** Identifies the socket file. Throws `UntrustedAgentError`, or the error of a file that is not there. */
function checkOwner(path: string): string {
  const user = process.geteuid?.();
  if (user === undefined) return "";
  const real = realpathSync(path);
  const socket = lstatSync(real);
  if (socket.uid !== user) throw new UntrustedAgentError("the agent's socket belongs to another user");
  for (const place of new Set([dirname(path), dirname(real)])) {
    const directory = statSync(place);
    if (directory.uid !== user && directory.uid !== 0) {
      throw new UntrustedAgentError("the directory of the agent's socket belongs to another user");
    }
    if (directory.mode & WRITABLE_BY_OTHERS && !(directory.mode & STICKY)) {
      throw new UntrustedAgentError("other users may write to the directory of the agent's socket");
    }
  }
  return `${socket.dev}:${socket.ino}`;
}
