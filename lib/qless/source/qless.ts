import { toMilliseconds, type Duration } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import type { JobSource } from '../../job/job-source.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { nestLog } from '../../nest/nest-log.js';
import { openConnections, type QlessServer } from '../connection/connections.js';
import { QlessSource } from './qless-source.js';
import { checkPopping, checkQueues, isName } from '../queues/queue-names.js';
import { workerName } from '../connection/worker-name.js';

/** Options of `qless`. */
export interface QlessOptions extends QlessServer {
  /** The queues that jobs are claimed from, in this order. */
  queues: readonly string[];
  /** `'ordered'` empties one queue before the next; `'round-robin'` claims one job of each in turn. @default 'ordered' */
  popping?: 'ordered' | 'round-robin';
  /** This worker's name, unique among all workers. @default host, process id and a random part */
  worker?: string;
  /**
   * How long a lock lasts without renewal. It is renewed four times as often, from a separate
   * thread. @default the queue's heartbeat in qless' configuration, 60 seconds
   */
  lock?: Duration;
}

const KNOWN = optionNames<QlessOptions>({
  connection: true,
  prefix: true,
  queues: true,
  popping: true,
  worker: true,
  lock: true,
});

/**
 * Makes the source for an instance whose handlers run jobs of a qless: `GearMonkeyModule.forRoot({ name, source: qless({ … }) })`.
 * `@Worker` takes the klass. Jobs of a klass without a handler stay in their queue.
 *
 * @throws InvalidOptionError, ConfigurationError
 */
export function qless(options: QlessOptions): JobSource {
  const { queues, popping = 'ordered', worker, lock, ...server } = checkOptions('qless', options, KNOWN);
  const named = { queues: checkQueues(queues), popping: checkPopping(popping) };
  if (worker !== undefined && !isName(worker)) throw new InvalidOptionError('worker', worker, 'a name');
  const log = nestLog('qless');
  return new QlessSource(openConnections(server, log), {
    ...named,
    worker: worker ?? workerName(),
    lock: lock === undefined ? '' : toMilliseconds('lock', lock) / 1000,
    onProblem: (message) => log.warn(message),
  });
}
