import { lstatSync } from "node:fs";
import { join } from "node:path";
import { AgentNotRunningError } from "./errors.js";

/**
 * Finds the socket of this user's agent as the commands do: `$LANYARD_SOCKET`, else
 * `$XDG_RUNTIME_DIR/lanyard/agent.sock`, else `lanyard/agent.sock` below `/run/user/UID`, if that directory belongs to
 * this user.
 *
 * @returns The path of the socket, whether an agent listens there or not.
 * @throws `AgentNotRunningError` - None of these names a place, or `LANYARD_SOCKET` is a relative path.
 */
export function defaultSocketPath(): string {
  const explicit = process.env["LANYARD_SOCKET"];
  if (explicit) {
    if (!explicit.startsWith("/")) throw new AgentNotRunningError("LANYARD_SOCKET must be an absolute path");
    return explicit;
  }
  const runtime = process.env["XDG_RUNTIME_DIR"] || usualRuntimeDirectory();
  if (!runtime) {
    throw new AgentNotRunningError("the agent's socket has no directory: XDG_RUNTIME_DIR is not set");
  }
  return join(runtime, "lanyard", "agent.sock");
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
