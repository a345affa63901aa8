import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../../../batching/chunks.js';
import { withDeadline } from '../../../job/clock.js';
import { defined } from '../../../job/defined.js';
import { isFinal } from '../../../job/job-state.js';
import type { FunctionOverview } from '../../../job/job-views.js';
import { ConnectionError, RefusedError } from '../../../job/server-errors.js';
import { explainToOperator } from '../../core/wire/rights.js';
import { explainToViewer } from '../../core/wire/viewer-rights.js';
import { ENDED_LISTS, LISTED_MS } from '../../core/wire/protocol.js';
import { findJobs, listJobs, mend, overview, readJob, readPayload } from './view-scripts.js';
import type { StoreServer } from '../../core/client/store-server.js';
import type {
  DescribedJob,
  EndedJob,
  FindQuery,
  ListQuery,
  MendVerb,
  PayloadField,
  PayloadPart,
  ViewedJobs,
  ViewStore,
} from './view-store.js';

/** How many functions are counted at a time. */
const AT_ONCE = 50;
/** How long a download from the server may take. */
const DOWNLOAD_MS = 30_000;

/** What a Redis server tells of its functions and jobs. */
export class RedisViews implements ViewStore {
  constructor(private readonly server: StoreServer) {}

  functions(): Promise<string[]> {
    return this.server.questions.ask('*', 'Reading the functions', (redis) => this.server.index.read(redis), {
      explain: explainToViewer,
    });
  }

  async overview(functions: readonly string[], leavesOut: boolean): Promise<FunctionOverview[]> {
    const found: FunctionOverview[] = [];
    let refused: RefusedError | undefined;
    const leaveOut = (error: unknown) => {
      if (!leavesOut || !(error instanceof RefusedError)) throw error;
      refused = error;
      return [];
    };
    for (const some of chunksOf(functions, AT_ONCE)) {
      const read = some.map((fn) => this.overviewOf(fn).catch(leaveOut));
      found.push(...(await Promise.all(read)).flat());
    }
    if (refused && found.length === 0) throw refused;
    return found;
  }

  list(fn: string, { state, newest, size, page, payloads }: ListQuery): Promise<ViewedJobs> {
    const k = this.server.keysOf(fn);
    const ended = isFinal(state) ? state : undefined;
    const status = ended === undefined ? '' : ended === 'succeeded' ? 'success' : 'error';
    const list = k.ended + ENDED_LISTS[ended ?? 'failed'];
    const keys = [k.jobs, k.control, k.leases, k.scheduled, k.high, k.normal, k.low, k.retrying, list];
    const kind = isFinal(state) ? 'ended' : state;
    const order = newest ? 'newest' : 'oldest';
    const read = (redis: Redis | Cluster) =>
      listJobs.run(
        redis,
        keys,
        this.server.now(),
        LISTED_MS,
        kind,
        order,
        size,
        page,
        payloads ? 1 : 0,
        status,
      );
    return this.server.questions.ask(fn, 'Listing jobs', read, { explain: explainToViewer });
  }

  find(fn: string, { by, text, newest, size, page, payloads }: FindQuery): Promise<ViewedJobs> {
    const k = this.server.keysOf(fn);
    const keys = [k.jobs, k.control, k.scheduled, k.retrying, `${k.ended}cancelled`, k.tags, k.unique];
    const order = newest ? 'newest' : 'oldest';
    const read = (redis: Redis | Cluster) =>
      findJobs.run(redis, keys, this.server.now(), by, text, order, size, page, payloads ? 1 : 0);
    return this.server.questions.ask(fn, 'Finding jobs', read, { explain: explainToViewer });
  }

  describe(fn: string, id: string, most: number): Promise<DescribedJob | undefined> {
    const { jobs } = this.server.keysOf(fn);
    const read = (redis: Redis | Cluster) => readJob.run(redis, [jobs], id, most);
    return this.server.questions.ask(fn, 'Reading a job', read, { explain: explainToViewer });
  }

  payload(fn: string, id: string, field: PayloadField, most: number): Promise<PayloadPart | undefined> {
    const { jobs } = this.server.keysOf(fn);
    const read = (redis: Redis | Cluster) => readPayload.run(redis, [jobs], id, field, most);
    return this.server.questions.ask(fn, 'Reading a payload', read, { explain: explainToViewer });
  }

  async wholePayload(fn: string, id: string, field: PayloadField): Promise<Buffer | undefined> {
    const own = this.server.commands.another('download');
    try {
      const redis = await own.ready(DOWNLOAD_MS);
      const read = redis.hmgetBuffer(this.server.keysOf(fn).jobs + id, field);
      const late = () => new ConnectionError('A download', `no answer within ${DOWNLOAD_MS} ms`);
      return (await withDeadline(read, DOWNLOAD_MS, late))[0] ?? undefined;
    } finally {
      own.close();
    }
  }

  mend(fn: string, verb: MendVerb, jobs: readonly EndedJob[]): Promise<number> {
    const k = this.server.keysOf(fn);
    const keys = [k.jobs, k.locks, k.channel, k.control, k.high, k.normal, k.low, k.wake];
    keys.push(`${k.ended}failed`, `${k.ended}cancelled`, k.scheduled);
    // The same name when the question is asked again.
    const name = randomUUID();
    const chosen = jobs.flatMap(({ id, finished }) => [id, finished]);
    let asked = 0;
    const run = (redis: Redis | Cluster) => {
      asked += 1;
      const isFirst = verb === 'discard' && asked === 1;
      return mend.run(redis, keys, this.server.now(), verb, isFirst ? '' : name, chosen);
    };
    return this.server.questions.ask(fn, `A ${verb} of jobs`, run, { explain: explainToOperator });
  }

  private async overviewOf(fn: string): Promise<FunctionOverview> {
    const k = this.server.keysOf(fn);
    const ended = Object.values(ENDED_LISTS).map((list) => k.ended + list);
    const keys = [k.jobs, k.control, k.leases, k.scheduled, k.high, k.normal, k.low, k.retrying, ...ended];
    keys.push(k.count, k.workers);
    const read = (redis: Redis | Cluster) => overview.run(redis, keys, this.server.now(), LISTED_MS);
    return toOverview(
      fn,
      await this.server.questions.ask(fn, 'An overview', read, { explain: explainToViewer }),
    );
  }
}

/** The texts are in the order of the script. */
function toOverview(fn: string, texts: readonly string[]): FunctionOverview {
  const [high = 0, normal = 0, low = 0, scheduled = 0, retrying = 0, running = 0, ...rest] =
    texts.map(Number);
  const [succeeded = 0, failed = 0, cancelled = 0, limitsFull = 0, paused = 0, oldest = 0, workers = 0] =
    rest;
  return defined({
    fn,
    waiting: { high, normal, low },
    ...{ scheduled, retrying, running, succeeded, failed, cancelled, limitsFull },
    paused: paused > 0,
    oldest: oldest > 0 ? new Date(oldest) : undefined,
    workers,
  });
}
