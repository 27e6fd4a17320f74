import { lstatSync } from "node:fs";
import { join } from "node:path";
import { AgentNotRunningError } from "./errors.js";

/**
 * Finds the socket of this user's agent as the commands do: `$LANYARD_SOCKET`, else
 * `$XDG_RUNTIME_DIR/lanyard/agent.sock`, else `/run/user/UID/lanyard/agent.sock` if `/run/user/UID` belongs to this user,
 * else `/tmp/lanyard-UID/agent.sock`.
 *
 * @returns The path of the socket, whether an agent listens there or not.
 * @throws `AgentNotRunningError` - `LANYARD_SOCKET` is a relative path, or `/tmp/lanyard-UID` is not this user's alone.
 */
export function defaultSocketPath(): string {
  const explicit = process.env["LANYARD_SOCKET"];
  if (explicit) {
    if (!explicit.startsWith("/")) throw new AgentNotRunningError("LANYARD_SOCKET must be an absolute path");
    return explicit;
  }
  const runtime = process.env["XDG_RUNTIME_DIR"];
  // A relative one is to be ignored (XDG Base Directory Specification).
  const session = runtime?.startsWith("/") ? runtime : usualRuntimeDirectory();
  return session ? join(session, "lanyard", "agent.sock") : join(privateDirectory("/tmp"), "agent.sock");
}

/** `/run/user/UID` of this user, where a login session has made it. */
function usualRuntimeDirectory(): string | undefined {
  const user = process.geteuid?.();
  if (user === undefined) return undefined;
  try {
    const usual = `/run/user/${user}`;
    return lstatSync(usual).uid === user ? usual : undefined;
  } catch {
    return undefined;
  }
}

/** `lanyard-UID` in a directory where everyone can make files: what stands there must be this user's alone. */
export function privateDirectory(temporary: string): string {
  const user = process.geteuid?.();
  const directory = join(temporary, `lanyard-${user ?? "user"}`);
  let isPrivate: boolean;
  try {
    const status = lstatSync(directory);
    isPrivate = status.isDirectory() && status.uid === user && (status.mode & 0o077) === 0;
  } catch (error) {
    isPrivate = user !== undefined && (error as NodeJS.ErrnoException).code === "ENOENT";
  }
  if (isPrivate) return directory;
  throw new AgentNotRunningError(
    "the agent's socket has no directory: XDG_RUNTIME_DIR is not set, and " +
      `${directory} is not a directory that only this user can use`,
  );
}
