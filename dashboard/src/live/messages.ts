import type { LiveEvents } from '../api.js';

/** An event of the stream. */
export type Told = {
  readonly [Name in keyof LiveEvents]: readonly [name: Name, data: LiveEvents[Name]];
}[keyof LiveEvents];

/** From a window: what it watches, as JSON texts of topics. None while it is hidden. */
export interface Watched {
  readonly topics: readonly string[];
  /** Those that a part of it has only begun to watch: of them it needs everything once. */
  readonly fresh: readonly string[];
}

/** How it stands with the server. */
export interface Contact {
  /** Undefined before the first answer. */
  readonly isThere: boolean | undefined;
  /** Since when there has been no answer, in milliseconds since 1970. */
  readonly lostAt: number | undefined;
  /** Topics that the server refuses, with its reasons. */
  readonly refused: Readonly<Record<string, string>>;
  /** What the server said when it knew no user any more. */
  readonly signedOut: string | undefined;
}

/** To a window. */
export type Message = { readonly told: Told } | { readonly contact: Contact };

export type Send = (message: Message) => void;

/** What a stream or a poll finds. */
export interface Listener {
  readonly tell: (told: Told) => void;
  readonly contact: (isThere: boolean) => void;
  /** A topic is refused, or no longer without a reason. */
  readonly refuse: (topic: string, why: string | undefined) => void;
}
