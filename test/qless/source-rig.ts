import type { Cluster, Redis } from 'ioredis';
import type { Placement } from '../../lib/gearmonkey/core/client/job-store.js';
import type { Payload } from '../../lib/job/codec.js';
import type { JobSource } from '../../lib/job/job-source.js';
import { openConnections, type QlessServer } from '../../lib/qless/connection/connections.js';
import { QlessSource } from '../../lib/qless/source/qless-source.js';
import type { QlessSourceOptions } from '../../lib/qless/source/source-options.js';
import * as scripts from '../../lib/qless/wire/scripts.js';
import { workerName } from '../../lib/qless/connection/worker-name.js';
import { MAX_STALLS, type SourceRig, type StoredState } from '../contract/rig.js';
import { shareRedis } from '../support/shared-redis.js';

const LEASE_MS = 30_000;
const QUEUE = 'q';
const PRIORITIES = { scheduled: 100, high: 10, normal: 0, low: -10 };

/** Sources of ours on one qless. Without `keeper` only calls of `renew` renew their locks. */
export function sourceOn(
  server: QlessServer,
  { keeper = false, ...options }: Partial<QlessSourceOptions> & { keeper?: boolean } = {},
): QlessSource {
  const connections = openConnections(server);
  return new QlessSource(keeper ? connections : { ...connections, keeper: undefined }, {
    queues: [QUEUE],
    popping: 'ordered',
    worker: workerName(),
    lock: '',
    onProblem: () => undefined,
    ...options,
  });
}

export async function qlessRig(): Promise<SourceRig> {
  const { url, redis, release } = await shareRedis();
  return rigOn({ connection: url }, redis, 'ql:', release);
}

/** All functions share one queue: a worker that handles one of them leaves the others alone. */
export async function rigOn(
  server: QlessServer,
  redis: Redis | Cluster,
  prefix: string,
  close: () => Promise<void>,
): Promise<SourceRig> {
  await scripts.setConfig.run(redis, [prefix], '', 'grace-period', 0);
  let names = 0;
  let jids = 0;

  async function submit(fn: string, input: Payload, placement: Placement = { queue: 'normal' }) {
    const { queue, score = 0 } = placement;
    // What is due goes before the others only if it says so.
    const priority = PRIORITIES[queue] - (queue === 'scheduled' ? score / 1e10 : 0);
    const delay = queue === 'scheduled' ? Math.max(0, score - Date.now() / 1000) : 0;
    const options = ['priority', priority, 'retries', MAX_STALLS];
    const data = JSON.stringify(Buffer.from(input as string).toString('latin1'));
    return scripts.put.run(redis, [prefix], '', 'rig', QUEUE, `jid-${++jids}`, fn, data, delay, options);
  }

  return {
    fn: () => `Klass${++names}`,
    source: ({ lease = LEASE_MS } = {}) => textual(sourceOn(server, { lock: lease / 1000 })),
    submit,
    stored: async (_, jid) => stateOf(await scripts.get.run(redis, [prefix], '', jid)),
    workers: () => Promise.reject(new Error('qless does not count workers by klass.')),
    close,
  };
}

/** Data is JSON, the contract's inputs are bytes: they travel as a string with a character for each. */
function textual(source: QlessSource): JobSource {
  const claim = source.claim.bind(source);
  return Object.assign(source, {
    claim: async (...args: Parameters<JobSource['claim']>) =>
      (await claim(...args)).map((claimed) =>
        Object.assign(claimed, { input: Buffer.from(textOf(claimed.input), 'latin1') }),
      ),
  });
}

const textOf = (data: Uint8Array): string => JSON.parse(Buffer.from(data).toString()) as string;

type Record = Awaited<ReturnType<typeof scripts.get.run>>;

function stateOf(job: Record): StoredState {
  if (job?.state === 'running') return { status: 'busy' };
  if (job?.state === 'complete') {
    const output = job.history.findLast(({ what }) => what === 'returned')?.['output'];
    return { status: 'success', ...(typeof output === 'string' ? { output } : {}) };
  }
  if (job?.state === 'failed') {
    const { group = '', message = '' } = job.failure ?? {};
    return {
      status: 'error',
      output: message,
      code: group.startsWith('failed-retries-') ? 'JOB_STALLED' : group,
    };
  }
  return { status: job ? 'idle' : undefined };
}
