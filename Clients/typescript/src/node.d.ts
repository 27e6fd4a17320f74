// The part of Node's API that this package uses, so that it builds with `tsc` alone. It is not published: no exported
// declaration mentions a name of this file.

declare interface Buffer extends Uint8Array {
  indexOf(value: number, byteOffset?: number): number;
  subarray(begin?: number, end?: number): Buffer;
  toString(encoding?: "utf8", start?: number, end?: number): string;
}

declare const Buffer: {
  alloc(size: number): Buffer;
  byteLength(text: string): number;
  concat(list: readonly Uint8Array[]): Buffer;
  from(text: string): Buffer;
};

declare const process: {
  readonly argv: string[];
  readonly env: Record<string, string | undefined>;
  readonly execPath: string;
  readonly platform: string;
  readonly stdin: import("node:stream").Readable;
  readonly stdout: { write(text: string, done?: () => void): boolean };
  exitCode: number | undefined;
  exit(code?: number): never;
  geteuid?(): number;
  kill(pid: number, signal?: string | number): void;
  on(event: string, listener: (...values: never[]) => void): void;
};

interface ErrorConstructor {
  captureStackTrace(error: object, above?: (...values: never[]) => unknown): void;
}

declare function setImmediate(callback: () => void): void;

declare module "node:stream" {
  export interface Readable extends AsyncIterable<Buffer> {
    setEncoding(encoding: "utf8"): this;
    on(event: "data", listener: (chunk: Buffer) => void): this;
    on(event: "end" | "close", listener: () => void): this;
    resume(): this;
  }
}

declare module "node:net" {
  export interface Socket {
    readonly destroyed: boolean;
    on(event: "data", listener: (chunk: Buffer) => void): this;
    on(event: "error", listener: (error: NodeJS.ErrnoException) => void): this;
    on(event: "connect" | "end" | "close", listener: () => void): this;
    once(event: "error", listener: (error: NodeJS.ErrnoException) => void): this;
    once(event: "connect" | "close", listener: () => void): this;
    removeAllListeners(event: string): this;
    write(data: string | Uint8Array, encoding?: "utf8"): boolean;
    end(): this;
    destroy(): this;
    ref(): this;
    unref(): this;
  }
  export interface Server {
    listen(path: string, listening?: () => void): this;
    listen(port: number, host: string, listening?: () => void): this;
    address(): { port: number };
    close(closed?: () => void): this;
    on(event: "connection", listener: (socket: Socket) => void): this;
  }
  export function createConnection(options: { path: string }): Socket;
  export function createServer(connection?: (socket: Socket) => void): Server;
}

declare namespace NodeJS {
  interface ErrnoException extends Error {
    readonly code?: string;
  }
}

declare module "node:fs" {
  export interface Stats {
    readonly dev: number;
    readonly ino: number;
    readonly mode: number;
    readonly size: number;
    readonly uid: number;
    isDirectory(): boolean;
    isFile(): boolean;
    isSocket(): boolean;
  }
  export const constants: {
    readonly O_RDWR: number;
    readonly O_CREAT: number;
    readonly O_APPEND: number;
    readonly O_NOFOLLOW: number;
    readonly X_OK: number;
  };
  export function accessSync(path: string, mode?: number): void;
  export function cpSync(from: string, to: string): void;
  export function chmodSync(path: string, mode: number): void;
  export function chownSync(path: string, uid: number, gid: number): void;
  export function closeSync(descriptor: number): void;
  export function existsSync(path: string): boolean;
  export function fstatSync(descriptor: number): Stats;
  export function lstatSync(path: string): Stats;
  export function mkdirSync(path: string, options?: { recursive?: boolean; mode?: number }): void;
  export function mkdtempSync(prefix: string): string;
  export function openSync(path: string, flags: number, mode?: number): number;
  export function readFileSync(path: string | URL, encoding: "utf8"): string;
  export function readSync(
    descriptor: number,
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): number;
  export function realpathSync(path: string): string;
  export function renameSync(from: string, to: string): void;
  export function rmSync(path: string, options?: { recursive?: boolean; force?: boolean }): void;
  export function statSync(path: string): Stats;
  export function symlinkSync(target: string, path: string): void;
  export function writeFileSync(path: string, text: string, options?: { mode?: number }): void;
}

declare module "node:path" {
  export function dirname(path: string): string;
  export function isAbsolute(path: string): boolean;
  export function join(...parts: string[]): string;
  export function resolve(...parts: string[]): string;
}

declare module "node:os" {
  export function tmpdir(): string;
}

declare module "node:child_process" {
  import type { Readable } from "node:stream";
  export interface ChildProcess {
    readonly pid?: number;
    readonly exitCode: number | null;
    readonly signalCode: string | null;
    readonly stdin: { write(text: string): boolean; end(): void } | null;
    readonly stdout: Readable | null;
    readonly stderr: Readable | null;
    kill(signal?: string): boolean;
    on(event: "error", listener: (error: NodeJS.ErrnoException) => void): this;
    on(event: "exit" | "close", listener: (code: number | null, signal: string | null) => void): this;
    unref(): void;
  }
  export function spawn(
    program: string,
    values: readonly string[],
    options?: {
      cwd?: string;
      detached?: boolean;
      env?: Record<string, string | undefined>;
      stdio?: readonly ("ignore" | "inherit" | "pipe" | number)[];
    },
  ): ChildProcess;
}

declare module "node:util" {
  export function format(...values: readonly unknown[]): string;
  export function inspect(value: unknown, options?: { depth?: number; showHidden?: boolean }): string;
}
