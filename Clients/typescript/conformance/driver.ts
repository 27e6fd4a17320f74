// Obeys the commands of the conformance run: see Clients/conformance/README.md.

import { format, inspect } from "node:util";
import { Client, LanyardError, toWire } from "../src/index.js";
import type { CallOptions, ClientOptions, EventOptions, EventStream, FetchOptions } from "../src/index.js";
import { typedCalls } from "./typed.js";

interface Command {
  readonly do: string;
  readonly id: string | number;
  readonly client?: string;
  readonly of?: string | number;
  readonly method?: string;
  readonly params?: object;
  readonly [member: string]: unknown;
}

const clients = new Map<string, Client>();
const streams = new Map<string | number, EventStream>();
const calls = new Map<string | number, AbortController>();
const outcomes = new Map<string | number, unknown>();
const cancelled = Symbol("cancelled");

function answer(message: object): void {
  process.stdout.write(JSON.stringify(message) + "\n");
}

function errorOf(error: unknown): object {
  if (error === cancelled) {
    const message = "the call was cancelled";
    return { kind: "cancelled", name: "cancelled", message, retryable: false, remedies: [], data: {} };
  }
  if (!(error instanceof LanyardError)) {
    return { kind: "unexpected", name: "unexpected", message: format(error), retryable: false, remedies: [], data: {} };
  }
  const { code, name, message, retryable, retryAfterMs, reason, account, remedies, data } = error;
  const kind = code === undefined ? name : "agent";
  return { kind, code, name, message, retryable, retryAfterMs, reason, account, remedies, data };
}

/** Every way in which a program may print a value by accident. */
function printed(value: unknown): string {
  const ways: (() => string)[] = [
    () => inspect(value),
    () => inspect(value, { depth: Infinity, showHidden: true }),
    () => format("%s %o %O %j", value, value, value, value),
    () => String(value),
    () => `${value as string}`,
    () => JSON.stringify(value),
    () => JSON.stringify({ ...(value as object) }),
    () => inspect(Object.entries(value as object)),
    () => inspect(structuredClone(value)),
    () => (value instanceof Error ? value.stack ?? "" : ""),
  ];
  return ways.map((way) => way()).join("\n");
}

function clientOf(command: Command): Client {
  const client = clients.get(String(command.client));
  if (!client) throw new Error(`no client ${String(command.client)}`);
  return client;
}

function streamOf(command: Command): EventStream {
  const stream = streams.get(command.of ?? "");
  if (!stream) throw new Error(`no stream ${String(command.of)}`);
  return stream;
}

async function cancellable<T extends object>(command: Command, body: (options: CallOptions) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  calls.set(command.id, controller);
  try {
    const timeoutMs = command["timeoutMs"] as number | undefined;
    const result = await body({ signal: controller.signal, ...(timeoutMs !== undefined && { timeoutMs }) });
    outcomes.set(command.id, result);
    return result;
  } catch (error) {
    outcomes.set(command.id, error);
    throw error;
  } finally {
    calls.delete(command.id);
  }
}

type Action = (command: Command) => Promise<unknown>;

const actions: Readonly<Record<string, Action>> = {
  async open(command) {
    const { socket: socketPath, start, grant, name, version, timeoutMs } = command;
    const client = new Client({ socketPath, start, grant, name, version, timeoutMs } as ClientOptions);
    clients.set(String(command.client), client);
    return command["connect"] === true ? toWire(await client.connect()) : {};
  },

  call(command) {
    const { method = "", params } = command;
    return cancellable(command, (options) => clientOf(command).call(method, params, options));
  },

  async typed(command) {
    const { method = "", params = {} } = command;
    const typedCall = typedCalls.get(method);
    if (!typedCall) throw new Error(`no method ${method}`);
    return toWire(await cancellable(command, (options) => typedCall(clientOf(command), params as never, options)));
  },

  async cancel(command) {
    calls.get(command.of ?? "")?.abort(cancelled);
    return {};
  },

  async show(command) {
    return { text: printed(outcomes.get(command.of ?? "")) };
  },

  async events(command) {
    const { types, accounts, since } = command;
    const stream = clientOf(command).events({ types, accounts, since } as EventOptions);
    streams.set(command.id, stream);
    await stream.open();
    void tell(command.id, stream);
    return {};
  },

  async position(command) {
    return streamOf(command).position ?? {};
  },

  async stop(command) {
    await streamOf(command).close();
    return {};
  },

  async http(command) {
    const { account, origins, scopes, resource, url, method = "GET", body = null } = command;
    const send = clientOf(command).fetcher({ account, origins, scopes, resource } as FetchOptions);
    const response = await send(String(url), { method, body: body as string | null });
    return { status: response.status, body: await response.text() };
  },

  async load(command) {
    const { account, count, callers = 1 } = command as unknown as { account: string; count: number; callers?: number };
    const client = clientOf(command);
    const beganAt = performance.now();
    let left = count;
    const caller = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await client.token.get({ account });
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    return { seconds: (performance.now() - beganAt) / 1000 };
  },

  async close(command) {
    clientOf(command).close();
    return {};
  },
};

async function tell(id: string | number, stream: EventStream): Promise<void> {
  try {
    for await (const event of stream) answer({ id, event: toWire(event) });
    answer({ id, ended: true });
  } catch (error) {
    answer({ id, error: errorOf(error) });
  }
}

async function obey(command: Command): Promise<void> {
  try {
    const action = actions[command.do];
    if (!action) throw new Error(`no command ${command.do}`);
    answer({ id: command.id, result: await action(command) });
  } catch (error) {
    answer({ id: command.id, error: errorOf(error) });
  }
}

let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + String(chunk)).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) if (line.trim() !== "") void obey(JSON.parse(line) as Command);
});
process.stdin.on("end", () => {
  for (const client of clients.values()) client.close();
});
