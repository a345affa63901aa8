import { defined } from '../../job/defined.js';
/** A worker in a list. Times are milliseconds since 1970. */
export interface WorkerSummary {
  readonly id: string;
  readonly name: string;
  readonly maxJobs: number;
  /** Absent for one that pulls. */
  readonly url?: string;
  readonly registered: number;
  readonly seen: number;
  /** How many jobs it has. */
  readonly running: number;
  /** Failed pushes and timed-out jobs in a row. */
  readonly failures: number;
  /** Until when it gets no jobs. */
  readonly rests?: number;
  readonly state: 'live' | 'suspect' | 'lost';
}

export interface WorkerDetails extends WorkerSummary {
  /** The names it takes; absent if it takes all. */
  readonly names?: readonly string[];
  /** Some of the jobs it has. */
  readonly jobs?: readonly string[];
}

export function readWorker(row: unknown): WorkerDetails {
  const [id, running, fields, names, jobs] = row as [Buffer, number, Buffer[], Buffer[]?, Buffer[]?];
  const [name = '', maxJobs, url, registered, seen, failures, rests, lost] = fields.map(String);
  return defined({
    id: String(id),
    name,
    maxJobs: Number(maxJobs),
    registered: Number(registered),
    seen: Number(seen),
    running,
    failures: Number(failures),
    state: lost === '1' ? 'lost' : Number(failures) > 0 ? 'suspect' : 'live',
    url: url || undefined,
    rests: rests ? Number(rests) : undefined,
    names: names && names.length > 0 ? names.map(String) : undefined,
    jobs: jobs && jobs.map(String),
  });
}
