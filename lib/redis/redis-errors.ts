/** Replies that mean "not now": the command had no effect and may be sent again. Before Redis 7 those in a script have more words before them. */
const TRANSIENT =
  /^(?:ERR Error running script .*?: -?)?(LOADING|READONLY|MASTERDOWN|MOVED|ASK|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS)\b/s;

/** Whether Redis refused the command for the time being. */
export function isTransientReply(error: unknown): boolean {
  return error instanceof Error && TRANSIENT.test(error.message);
}

/** Replies of a server that takes no writes now, or refuses this user: what a running job asks waits, as its outcome does. */
const REFUSED =
  /^(?:ERR Error running script .*?: -?)?(MISCONF|OOM|NOPERM)\b|The user executing the script|ACL failure in script/s;

/** Whether a call was refused for a reason that may pass, by an operator or by itself. */
export function isRefusedForNow(error: unknown): boolean {
  return isTransientReply(error) || (error instanceof Error && REFUSED.test(error.message));
}

/** Whether the server is no master any more. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Error && TRANSIENT.exec(error.message)?.[1] === 'READONLY';
}

/** Whether the error is a reply of Redis: then the connection works. */
export function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}
