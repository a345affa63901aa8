import type { Peer } from './peer.js';

/** The arguments of a request: its `data`, or none if that is not an object. */
export type RequestArguments = Readonly<Record<string, unknown>>;

/** Handles one type of request. Its result is the reply's `data`, an error it throws the reply's `error`. */
export type RequestHandler = (args: RequestArguments, from: Peer) => unknown;

/** Handlers by request type. A Map, because types may be named like members of every object. */
export type RequestHandlers = ReadonlyMap<string, RequestHandler>;

export function toHandlers(handlers: Record<string, RequestHandler>): RequestHandlers {
  return new Map(Object.entries(handlers));
}

export function toArguments(data: unknown): RequestArguments {
  return typeof data === 'object' && data !== null ? (data as RequestArguments) : {};
}
