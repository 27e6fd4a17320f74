declare module "node:test" {
  interface Context {
    after(body: () => void | Promise<void>): void;
    skip(message?: string): void;
    test(name: string, body: (context: Context) => void | Promise<void>): Promise<void>;
    readonly name: string;
  }
  export type TestContext = Context;
  export function test(name: string, body: (context: Context) => void | Promise<void>): void;
  export function test(
    name: string,
    options: { skip?: boolean | string; timeout?: number },
    body: (context: Context) => void | Promise<void>,
  ): void;
  export function after(body: () => void | Promise<void>): void;
  export function before(body: () => void | Promise<void>): void;
}

declare module "node:assert/strict" {
  type Check = ((error: unknown) => boolean) | (new (...values: never[]) => Error) | Error | object;
  interface Assert {
    (value: unknown, message?: string): asserts value;
    equal(actual: unknown, expected: unknown, message?: string): void;
    notEqual(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    match(text: string, pattern: RegExp): void;
    doesNotMatch(text: string, pattern: RegExp, message?: string): void;
    ok(value: unknown, message?: string): asserts value;
    rejects(body: Promise<unknown> | (() => Promise<unknown>), check?: Check): Promise<void>;
    throws(body: () => unknown, check?: Check): void;
  }
  const assert: Assert;
  export default assert;
}

declare module "node:http" {
  interface IncomingMessage {
    readonly method: string;
    readonly url: string;
    readonly headers: Record<string, string | undefined>;
    on(event: "data", listener: (chunk: Uint8Array) => void): this;
    on(event: "end", listener: () => void): this;
  }
  interface ServerResponse {
    writeHead(status: number, headers: Record<string, string>): ServerResponse;
    end(text: string): void;
  }
  interface HTTPServer {
    listen(port: number, host: string, listening: () => void): this;
    address(): { port: number };
    close(): this;
    closeAllConnections(): void;
  }
  export function createServer(serve: (request: IncomingMessage, response: ServerResponse) => void): HTTPServer;
}

declare module "node:url" {
  export function fileURLToPath(url: URL): string;
}
