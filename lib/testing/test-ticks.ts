import { tickDue } from '../gearmonkey/features/schedules/tick.js';
import type { StoredJob } from '../gearmonkey/core/wire/stored-job.js';
import type { Clock } from '../job/clock.js';
import type { JobRecords } from './job-records.js';
import type { TestBackend } from './test-backend.js';

/** What ticks of schedules have created. */
export interface Ticked {
  /** How many jobs. */
  readonly created: number;
  /** When the next tick is due, in ms since 1970. */
  readonly next: number;
}

export interface TicksParts {
  readonly clock: Clock;
  readonly backend: TestBackend;
  readonly records: JobRecords;
  /** Whether schedules create any. */
  readonly recurring: boolean;
}

/** Creates the recurring jobs of these functions that are due by the test's clock. */
export async function tickNow(parts: TicksParts, functions: readonly string[]): Promise<Ticked> {
  const { schedules } = parts.backend.store;
  let [created, next] = [0, Infinity];
  if (!parts.recurring) return { created, next };
  for (const fn of functions) {
    const { wait, jobs } = await tickDue(schedules, fn);
    for (const { id } of jobs) await record(parts, fn, id);
    created += jobs.length;
    if (wait >= 0) next = Math.min(next, parts.clock.now() + wait);
  }
  return { created, next };
}

/** The same of all sources of a test. */
export async function tickAll(sources: Iterable<{ tick(): Promise<Ticked> }>): Promise<Ticked> {
  const ticked = await Promise.all([...sources].map((source) => source.tick()));
  const created = ticked.reduce((sum, each) => sum + each.created, 0);
  return { created, next: Math.min(Infinity, ...ticked.map(({ next }) => next)) };
}

async function record({ backend, records }: TicksParts, fn: string, id: string): Promise<void> {
  const [stored] = await backend.store.read(fn, [id]);
  const [created, due] = [Number(textOf(stored, 'created')), Number(textOf(stored, 'due'))];
  const placement = { queue: 'scheduled', score: due / 1000, options: textOf(stored, 'options') } as const;
  const payload = stored?.get('input') ?? '';
  records.add({ fn, id, payload, placement, created, due, performed: false });
}

function textOf(stored: StoredJob | undefined, field: string): string {
  return Buffer.from(stored?.get(field) ?? '').toString();
}
