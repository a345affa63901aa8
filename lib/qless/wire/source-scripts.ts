import { sourceScript } from './assemble.js';
import type { ClaimArguments, SettleArguments } from './requests.js';
import { claimed, list, nothing, strings, type Claimed } from './replies.js';
import { scriptOf, type Script } from '../../redis/script.js';

/** Seconds since 1970, or the server's clock. */
type Now = number | '';

function defineScript<Args extends readonly (string | number | readonly (string | number)[])[], Reply>(
  name: string,
  decode: (reply: unknown) => Reply,
): Script<Args, Reply> {
  return scriptOf(sourceScript(name), decode);
}

export const claim = defineScript<[now: Now, ...ClaimArguments], Claimed>('claim', claimed);

/** `woken` is the queue that the caller was woken for and has no use for, or ''. */
export const withdraw = defineScript<
  [now: Now, waiter: string, woken: string, queues: readonly string[]],
  void
>('withdraw', nothing);

/** Whether each was accepted; the first ones at least, if not all. */
export const settle = defineScript<[now: Now, worker: string, settlements: SettleArguments], boolean[]>(
  'settle',
  (reply) => list<number>(reply).map((accepted) => accepted === 1),
);

/** The members, "jid:token", that are lost. */
export const renew = defineScript<
  [now: Now, worker: string, lock: number | '', members: readonly string[]],
  string[]
>('renew', strings);

/** Whether it was accepted: false if another worker has the job by now. */
export const progress = defineScript<
  [now: Now, worker: string, jid: string, token: number, dividend: number, divisor: number],
  boolean
>('progress', (reply) => reply === 1);
