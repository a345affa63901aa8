/** Replies that mean "not now": the command had no effect and may be sent again. */
const TRANSIENT = /^(LOADING|READONLY|MASTERDOWN|MOVED|ASK|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS)\b/;

/** Whether Redis refused the command for the time being. */
export function isTransientReply(error: unknown): boolean {
  return error instanceof Error && TRANSIENT.test(error.message);
}

/** Replies of a server that takes no writes now, or not from this user: a write of a running job waits, as its outcome does. */
const NO_WRITES = /^(MISCONF|OOM|NOPERM)\b|The user executing the script|ACL failure in script/;

/** Whether a write was refused for a reason that may pass, by an operator or by itself. */
export function isRefusedWrite(error: unknown): boolean {
  return isTransientReply(error) || (error instanceof Error && NO_WRITES.test(error.message));
}

/** Whether the error is a reply of Redis: then the connection works. */
export function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}
