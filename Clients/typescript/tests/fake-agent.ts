// A scripted agent on a real unix socket, in the test's own process.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

/** The handler's result is the answer; `undefined` is no answer, until the test sends one. */
export type Handler = (request: Request, peer: Peer) => object | undefined | void;

export const HELLO = {
  agent: { name: "fake-agent", version: "0" },
  protocol: "1",
  instance: "instance-1",
  schemaDigest: "digest",
  features: [],
  limits: {
    lineBytes: 65536,
    bodyLineBytes: 1048576,
    nesting: 64,
    requestsInFlight: 128,
    connections: 1024,
    lineSeconds: 10,
    eventBacklogBytes: 1048576,
  },
};

export const TOKEN = {
  accessToken: "secret-access-token",
  tokenType: "Bearer",
  expiresAt: "2030-01-01T00:05:00.000Z",
  expiresInSeconds: 300,
  account: "acc_alice",
  issuer: "https://idp.example",
  scopes: ["openid"],
  source: "cache",
  fingerprint: "f1",
  generation: 1,
};

/** Thrown by a handler to answer an error. */
export class Fault {
  readonly error: object;

  constructor(code: number, name: string, data: object = {}) {
    this.error = { code, message: `about ${name}`, data: { name, retryable: false, ...data } };
  }
}

/** One client of the fake agent. */
export class Peer {
  subscription = "";

  constructor(readonly socket: Socket) {}

  send(message: unknown): void {
    this.raw(JSON.stringify(message) + "\n");
  }

  raw(data: string | Uint8Array): void {
    if (!this.socket.destroyed) this.socket.write(data);
  }

  /** Sends the bytes one at a time, each in a turn of its own. */
  async drip(text: string): Promise<void> {
    for (const byte of Buffer.from(text)) {
      this.raw(new Uint8Array([byte]));
      await turn();
    }
  }

  answer(request: Request, result: object): void {
    this.send({ jsonrpc: "2.0", id: request.id, result });
  }

  event(sequence: number, type = "token.refreshed", members: object = {}): void {
    const base = { subscription: this.subscription, epoch: "epoch-1", at: "2030-01-01T00:00:00.000Z", data: {} };
    this.send({ jsonrpc: "2.0", method: "event", params: { ...base, sequence, type, ...members } });
  }

  close(): void {
    this.socket.destroy();
  }
}

export class FakeAgent {
  readonly directory = mkdtempSync(join(tmpdir(), "lanyard-"));
  readonly path = join(this.directory, "agent.sock");
  readonly received: Request[] = [];
  readonly peers: Peer[] = [];
  readonly #handlers = new Map<string, Handler>();
  #server: Server | undefined;

  constructor() {
    this.on("agent.hello", () => HELLO);
    this.on("event.subscribe", (_, peer) => {
      peer.subscription = `sub-${this.requests("event.subscribe").length}`;
      return { subscription: peer.subscription, epoch: "epoch-1", sequence: 0, gap: false };
    });
    this.on("event.unsubscribe", () => ({}));
  }

  static async start(): Promise<FakeAgent> {
    const agent = new FakeAgent();
    await agent.listen();
    return agent;
  }

  on(method: string, handler: Handler): void {
    this.#handlers.set(method, handler);
  }

  listen(): Promise<void> {
    return new Promise((resolve) => {
      this.#server = createServer((socket) => this.#serve(socket));
      this.#server.listen(this.path, resolve);
    });
  }

  /** As a process that is killed: every connection ends. */
  async die(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const peer of this.peers.splice(0)) peer.close();
    if (server) await new Promise<void>((resolve) => server.close(resolve));
  }

  async stop(): Promise<void> {
    await this.die();
    rmSync(this.directory, { recursive: true, force: true });
  }

  requests(method: string): Request[] {
    return this.received.filter((request) => request.method === method);
  }

  /** Waits until so many requests of the method have come, and returns the latest of them. */
  async waitFor(method: string, count = 1): Promise<Request> {
    for (;;) {
      const found = this.requests(method)[count - 1];
      if (found) return found;
      await turn();
    }
  }

  #serve(socket: Socket): void {
    const peer = new Peer(socket);
    this.peers.push(peer);
    let rest: Buffer = Buffer.alloc(0);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        const line = rest.toString("utf8", 0, end);
        rest = rest.subarray(end + 1);
        this.#take(JSON.parse(line) as Request, peer);
      }
    });
  }

  #take(request: Request, peer: Peer): void {
    this.received.push(request);
    const handler = this.#handlers.get(request.method);
    try {
      if (!handler && request.id !== undefined) throw new Fault(-32601, "methodNotFound");
      const result = handler?.(request, peer);
      if (result && request.id !== undefined) peer.answer(request, result);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      peer.send({ jsonrpc: "2.0", id: request.id, error: fault.error });
    }
  }
}

/** Lets the event loop go round once. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
