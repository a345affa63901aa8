import type { Clock } from '../job/clock.js';
import { defined } from '../job/defined.js';
import type { JobState } from '../job/job-state.js';
import type { FunctionOverview } from '../job/job-views.js';
import type { Sharing } from '../gearmonkey/features/limits/limit-store.js';
import type {
  DescribedJob,
  FindQuery,
  ListQuery,
  PayloadField,
  PayloadPart,
  PresentWorker,
  ViewedJob,
  ViewedJobs,
  ViewStore,
} from '../gearmonkey/features/views/view-store.js';
import { LARGEST_SHOWN, MOST_READ, SHOWN_BYTES } from '../gearmonkey/features/views/listed-job.js';
import { stateOf, type StoredJob } from '../gearmonkey/core/wire/stored-job.js';
import { bytes } from './fields.js';
import { findIds } from './find-jobs.js';
import type { MemoryFunction } from './memory-function.js';
import { LISTED, type Listed } from './memory-queues.js';
import type { MemoryServer } from './memory-server.js';

/** A job and what its list is ordered by. */
type Ranked = readonly [id: string, rank: number];

/** What the embedded server tells of its functions and jobs. */
export class MemoryViews implements ViewStore {
  constructor(
    private readonly server: MemoryServer,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  async now(): Promise<number> {
    return this.clock.now();
  }

  async functions(): Promise<string[]> {
    return this.server.names().sort();
  }

  async overview(functions: readonly string[]): Promise<FunctionOverview[]> {
    return functions.map((fn) =>
      // To look at a function is not to use it.
      this.server.has(fn) ? overviewOf(fn, this.server.function(fn), this.clock.now()) : { fn, ...NOTHING },
    );
  }

  async describe(fn: string, id: string, most: number): Promise<DescribedJob | undefined> {
    const read = this.server.function(fn).read(id, this.clock.now());
    if (!read) return undefined;
    const tellsWhy = String(read.get('status')) === 'error' && !read.has('error');
    const shown = [...read].filter(([name]) => name !== 'input' && (name !== 'output' || tellsWhy));
    return {
      stored: new Map(shown.map(([name, value]) => [name, value.subarray(0, most)])),
      lengths: new Map([...read].map(([name, value]) => [name, value.byteLength])),
    };
  }

  async payload(fn: string, id: string, field: PayloadField, most: number): Promise<PayloadPart | undefined> {
    const read = this.server.function(fn).read(id, this.clock.now());
    const bytes = read?.get(field);
    return (
      bytes && {
        status: String(read?.get('status') ?? ''),
        length: bytes.byteLength,
        bytes: Buffer.from(bytes.subarray(0, most)),
      }
    );
  }

  async wholePayload(fn: string, id: string, field: PayloadField): Promise<Buffer | undefined> {
    return (await this.payload(fn, id, field, Infinity))?.bytes;
  }

  async sharing(fn: string): Promise<Sharing> {
    const { counts } = this.server.function(fn).limits;
    const isSharing = (one: string) => this.server.function(one).limits.counts === counts;
    return { functions: this.server.names().filter(isSharing), unread: [] };
  }

  /** They live as long as this process, and have no names. */
  async workers(fn: string): Promise<PresentWorker[]> {
    const { workers } = this.server.function(fn);
    return Array.from({ length: workers }, (_, index) => ({ id: `memory-${index + 1}`, until: Infinity }));
  }

  async list(fn: string, { state, newest, size, page, payloads }: ListQuery): Promise<ViewedJobs> {
    const [of, now] = [this.server.function(fn), this.clock.now()];
    of.lists.trim(now);
    const there = ranked(of, state, now).filter(([id]) => isIn(of, id, state));
    const sorted = there.sort(([, a], [, b]) => (newest ? b - a : a - b));
    const rest = behind(sorted, page, newest);
    const shown = rest.slice(0, size);
    const jobs = shownOf(
      of,
      shown.map(([id]) => id),
      payloads,
    );
    return { jobs, total: sorted.length, next: rest.length > size ? pageAfter(sorted, shown) : '' };
  }

  async find(fn: string, query: FindQuery): Promise<ViewedJobs> {
    const [of, now] = [this.server.function(fn), this.clock.now()];
    of.lists.trim(now);
    const found = findIds(of, query, now);
    const last = Number(query.page);
    const rest = found.filter(
      (id) => query.page === '' || (query.newest ? Number(id) < last : Number(id) > last),
    );
    const shown = rest.slice(0, query.size);
    const jobs = shownOf(of, shown, query.payloads).map(({ id, stored }) => ({
      id,
      stored: new Map([...stored, ['state', bytes(stateOf(stored, now))]]),
    }));
    return { jobs, total: found.length, next: rest.length > query.size ? (shown.at(-1) ?? '') : '' };
  }
}

function shownOf(of: MemoryFunction, ids: readonly string[], payloads: boolean): ViewedJob[] {
  const reading = { left: MOST_READ };
  return ids.flatMap((id) => {
    const stored = of.jobs.read(id);
    return stored ? [{ id, stored: viewOf(stored, payloads, reading) }] : [];
  });
}

const NOTHING: Omit<FunctionOverview, 'fn'> = {
  waiting: { high: 0, normal: 0, low: 0 },
  ...{ scheduled: 0, retrying: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 },
  ...{ limitsFull: 0, paused: false, workers: 0 },
};

function overviewOf(fn: string, of: MemoryFunction, now: number): FunctionOverview {
  of.lists.trim(now);
  const count = (state: JobState) => ranked(of, state, now).filter(([id]) => isIn(of, id, state)).length;
  const waiting = Object.fromEntries(LISTED.map((queue) => [queue, waitingIn(of, queue, now).length]));
  const created = ranked(of, 'waiting', now).map(([id]) => of.jobs.number(id, 'created'));
  const oldest = created.reduce((least, time) => Math.min(least, time), Infinity);
  const full = of.limits.list({ size: Infinity }, now).filter(({ full, waiting }) => full && waiting > 0);
  return defined({
    fn,
    waiting: waiting as Record<Listed, number>,
    scheduled: count('scheduled'),
    retrying: count('retrying'),
    running: count('running'),
    succeeded: count('succeeded'),
    failed: count('failed'),
    cancelled: count('cancelled'),
    limitsFull: full.length,
    paused: of.control.isPaused,
    oldest: oldest < Infinity ? new Date(oldest) : undefined,
    workers: of.workers,
  });
}

/** The jobs of a state with what they are ordered by; those that have left it may be among them. */
function ranked(of: MemoryFunction, state: JobState, now: number): Ranked[] {
  const byId = (ids: readonly string[]): Ranked[] => ids.map((id) => [id, Number(id)]);
  switch (state) {
    case 'waiting':
      return byId(LISTED.flatMap((queue) => waitingIn(of, queue, now)));
    case 'scheduled': {
      const retries = of.lists.retrying(now);
      return scheduled(of, now).filter(([id]) => !retries.has(id));
    }
    case 'retrying':
      return [...of.lists.retrying(now)];
    case 'running':
      return byId(of.leases.ids);
    default:
      return [...of.lists.in(state)];
  }
}

function waitingIn(of: MemoryFunction, queue: Listed, now: number): string[] {
  of.limits.pass(now);
  const ids = [...of.waiting.queues.idsIn(queue), ...of.limits.idsIn(queue)];
  // One that expired and was ended for a client that waited for it is still in its queue.
  return ids.filter((id) => of.jobs.text(id, 'status') === 'idle');
}

function scheduled(of: MemoryFunction, now: number): Ranked[] {
  of.limits.pass(now);
  const { queues } = of.waiting;
  const limited = of.limits.idsIn('scheduled').map((id): Ranked => [id, of.limits.placeOf(id).due]);
  const free = [...queues.waiting()].slice(0, queues.idsIn('scheduled').length);
  return [...free.map(({ id, due }): Ranked => [id, due]), ...limited];
}

function isIn(of: MemoryFunction, id: string, state: JobState): boolean {
  const status = of.jobs.text(id, 'status');
  if (state === 'succeeded') return status === 'success';
  if (state === 'failed' || state === 'cancelled') return status === 'error';
  return status === (state === 'running' ? 'busy' : 'idle');
}

/** A page is named by the rank of the last job before it, and how many of that rank come before it. */
function behind(sorted: readonly Ranked[], page: string, newest: boolean): readonly Ranked[] {
  if (page === '') return sorted;
  const [rank = 0, skipped = 0] = page.split(':').map(Number);
  const first = sorted.findIndex(([, other]) => (newest ? other <= rank : other >= rank));
  if (first < 0) return [];
  return sorted.slice(sorted[first]?.[1] === rank ? first + skipped : first);
}

function pageAfter(sorted: readonly Ranked[], shown: readonly Ranked[]): string {
  const last = shown.at(-1);
  if (!last) return '';
  const before = sorted.slice(0, sorted.indexOf(last) + 1);
  return `${last[1]}:${before.filter(([, rank]) => rank === last[1]).length}`;
}

/** As a Redis server gives it to lists. `reading` counts the bytes that may still be read for the page. */
function viewOf(stored: StoredJob, payloads: boolean, reading: { left: number }): StoredJob {
  const view = new Map([...stored].filter(([field]) => field !== 'input' && field !== 'output'));
  const failed = stored.get(`error:${String(stored.get('attempts') ?? '')}`);
  if (String(stored.get('status')) === 'idle' && failed) view.set('error', failed);
  for (const field of payloads ? ['input', 'output'] : []) {
    const value = stored.get(field);
    if (!value || value.length === 0) continue;
    view.set(`${field}:bytes`, bytes(String(value.length)));
    if (value.length > LARGEST_SHOWN || value.length > reading.left) continue;
    reading.left -= value.length;
    view.set(field, value.subarray(0, SHOWN_BYTES));
  }
  return view;
}
