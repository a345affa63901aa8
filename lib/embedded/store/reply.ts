/** A reply that is an error. ioredis gives the same name to its own. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

/** A reply that is a state, such as OK. */
export class Status {
  constructor(readonly text: string) {}
}

export const OK = new Status('OK');

/** A reply of a command. Texts have a character for each byte. */
export type Reply = string | number | null | Status | readonly Reply[];
