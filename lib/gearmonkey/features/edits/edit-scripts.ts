import { scriptsIn } from '../../../redis/script.js';
import { LUA } from '../../core/wire/lua.embedded.js';
import type { Bytes, Now, Times } from '../../core/wire/scripts.js';

const defineScript = scriptsIn(LUA);

/** The result of a change. `lost` means that another job has the id now. */
export type Updated = 'updated' | 'begun' | 'finished' | 'missing' | 'lost';

export const update = defineScript<
  [id: string, mark: number | '', queue: number, due: Times, hasKey: 0 | 1, key: string, input: Bytes[]],
  Updated
>('update', (reply) => String(reply) as Updated);

/** The jobs that a step has ended, and where the next one begins: '0' at the end. */
interface Drained {
  readonly ids: string[];
  readonly cursor: string;
  /** Whether others wait for some of them, or they belong to a flow. */
  readonly awaited?: true;
}

function readDrained(reply: unknown): Drained {
  const [ids, cursor, inFlow] = reply as [Buffer[], Buffer, number?];
  return { ids: ids.map(String), cursor: String(cursor), ...(inFlow === 1 && { awaited: true }) };
}

/** `kind` is '' for a list. */
export const drain = defineScript<[now: Now, last: number, cursor: string, kind: string], Drained>(
  'drain',
  readDrained,
);

/** The same for jobs with a key; `priority` is that of the lists if `kind` is ''. */
export const drainLimited = defineScript<
  [now: Now, last: number, cursor: string, kind: string, priority: string],
  Drained
>('drain-limited', readDrained);

/** Returns whether that changes anything. */
export const pause = defineScript<[now: Now, paused: 0 | 1], boolean>('pause', (reply) => reply === 1);

/**
 * The result of a cancellation. `lost` means that another job has the id now. A job `cancelled-in-flow` belongs to a flow, or
 * others wait for it; one `cancelled-before` is as an earlier call has left it.
 */
export type Cancellation =
  'cancelled' | 'cancelled-before' | 'cancelled-in-flow' | 'finished' | 'missing' | 'lost' | 'running';

export const cancel = defineScript<
  [now: Now, id: string, mark: number | '', message: string, error: string, sparesRunning: readonly 1[]],
  Cancellation
>('cancel', (reply) => String(reply) as Cancellation);
