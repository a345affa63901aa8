import type { Peer } from './peer.js';

/** The arguments of a request: what was sent as `data`, or none where that was no object. */
export type RequestArguments = Readonly<Record<string, unknown>>;

/** Answers one type of request: what it returns is the reply's `data`, what it throws the reply's `error`. */
export type RequestHandler = (args: RequestArguments, from: Peer) => unknown;

/** What a server understands, by request type. A Map, for types named like members of every object. */
export type RequestHandlers = ReadonlyMap<string, RequestHandler>;

export function toHandlers(handlers: Record<string, RequestHandler>): RequestHandlers {
  return new Map(Object.entries(handlers));
}

export function toArguments(data: unknown): RequestArguments {
  return typeof data === 'object' && data !== null ? (data as RequestArguments) : {};
}
