/**
 * Client for the Lanyard agent: tokens, decisions and authenticated requests from one local agent.
 *
 * @packageDocumentation
 */

export type { CallOptions, Caller } from "./caller.js";
export { Client } from "./client.js";
export type { ClientOptions, ConnectOptions } from "./client.js";
export * from "./errors.js";
export { EventStream } from "./events.js";
export type { EventOptions, KnownEventType, LanyardEvent } from "./events.js";
export type { Position } from "./feed.js";
export type { AuthorizedFetch, FetchOptions } from "./fetch.js";
export * from "./generated/errors.js";
export * from "./generated/events.js";
export * from "./generated/types.js";
export type { NoParams } from "./generated/methods.js";
export { extra, toWire } from "./record.js";
export type { Open } from "./record.js";
export { VERSION } from "./settings.js";
export { defaultSocketPath } from "./socket-path.js";
