import { Backoff } from './backoff.js';
import { JqRefusedError, JqUnreachableError } from './master-errors.js';
import { isTemporary, refused, type MasterReply } from './master-http.js';

/**
 * Asks again through outages and "later", until the master has an answer of its own: for what may be asked twice.
 *
 * @param what method and path, for the message
 * @throws JqUnreachableError when the signal aborts first, or JqRefusedError when all it said was "later"
 */
export async function retryUntilAnswered(
  request: () => Promise<MasterReply>,
  signal: AbortSignal,
  { url, what }: { readonly url: string; readonly what: string },
): Promise<MasterReply> {
  const backoff = new Backoff();
  let last: unknown;
  for (;;) {
    let rest = 0;
    try {
      const reply = await request();
      if (!isTemporary(reply)) return reply;
      last = refused(what, reply);
      rest = reply.rest;
    } catch (error) {
      // The deadline is not the reason: that is what went before.
      if (!signal.aborted) last = error;
      else last ??= error;
    }
    await backoff.wait(signal, rest).catch(() => undefined);
    if (!signal.aborted) continue;
    throw last instanceof JqRefusedError ? last : new JqUnreachableError(url, what, last);
  }
}
