/** Replies that say "not now": the command had no effect and may be sent again. */
const TRANSIENT = /^(LOADING|READONLY|MASTERDOWN|MOVED|ASK|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS)\b/;

/** Whether Redis refused the command for the time being. */
export function isTransientReply(error: unknown): boolean {
  return error instanceof Error && TRANSIENT.test(error.message);
}

/** Whether Redis answered at all: then nothing is wrong with the connection. */
export function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}
