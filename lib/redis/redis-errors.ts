/** Replies that mean "not now": the command had no effect and may be sent again. */
const TRANSIENT = /^(LOADING|READONLY|MASTERDOWN|MOVED|ASK|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS)\b/;

/** Whether Redis refused the command for the time being. */
export function isTransientReply(error: unknown): boolean {
  return error instanceof Error && TRANSIENT.test(error.message);
}

/** Whether the error is a reply of Redis: then the connection works. */
export function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}
