import { defined } from '../../job/defined.js';
import type { Claim, Outcome } from '../../job/job-source.js';
import { mayRetry, type AcceptedJob } from '../storage/accepted-job.js';
import type { JobTable } from '../storage/job-table.js';
import type { RowWriter } from '../storage/row-writer.js';
import { rowOutcome, type RowOutcome } from './outcome-columns.js';
import { inputOf, type TableRow } from './row-input.js';

/** The result of settling. */
export interface Settled {
  readonly isAccepted: boolean;
  /** Only for an outcome that was written by this call. */
  readonly written?: { readonly job: AcceptedJob; readonly outcome: RowOutcome };
  /** The row that this call found to be another's, changed or deleted. */
  readonly gone?: AcceptedJob;
}

const STALE: Settled = { isAccepted: false };
const REPEATED: Settled = { isAccepted: true };

let lastToken = 0;

/** Grows with each claim. What fences a claim is the owner in the database, not this number. */
function nextToken(): number {
  lastToken = Math.max(lastToken + 1, Date.now() * 1000);
  return lastToken;
}

/** Running rows as claims. A claim is settled once; a second outcome is a repetition, or the claim is stale. */
export class ClaimedRows {
  private readonly held = new Map<number, { readonly claim: Claim; readonly job: AcceptedJob }>();
  private readonly settled = new WeakSet<Claim>();
  private readonly settling = new Set<Claim>();

  constructor(
    private readonly table: JobTable,
    private readonly writer: RowWriter,
    private readonly input: string | undefined,
  ) {}

  add(job: AcceptedJob, row: TableRow): Claim {
    const { id, target, attempts, maxAttempts, timeout } = job;
    const claim: Claim = {
      fn: target,
      id: String(id),
      token: nextToken(),
      input: inputOf(row, this.input),
      attempts: attempts + 1,
      stalls: 0,
      isLast: !mayRetry(job, this.table.columns),
      options: defined({
        retry: maxAttempts === undefined ? undefined : { attempts: maxAttempts },
        timeout: timeout === undefined ? undefined : timeout * 1000,
      }),
    };
    this.held.set(id, { claim, job });
    return claim;
  }

  holds(claim: Claim): boolean {
    return this.held.get(Number(claim.id))?.claim === claim;
  }

  /** Whether its outcome is being written. */
  isSettling({ id }: AcceptedJob): boolean {
    const held = this.held.get(id);
    return held !== undefined && this.settling.has(held.claim);
  }

  /** Forgets a lost row. */
  drop(job: AcceptedJob): Claim | undefined {
    const held = this.held.get(job.id);
    if (held?.job !== job) return undefined;
    this.held.delete(job.id);
    return held.claim;
  }

  /** Waits through outages. @throws DatabaseError when the source is closed first */
  async settle(outcome: Outcome): Promise<Settled> {
    const { claim } = outcome;
    if (this.settled.has(claim)) return REPEATED;
    const id = Number(claim.id);
    const held = this.held.get(id);
    if (held?.claim !== claim || this.settling.has(claim)) return STALE;
    const { job } = held;
    this.settling.add(claim);
    try {
      const meaning = rowOutcome(outcome, job, this.table.columns);
      const isOurs = await this.writer.end({ id, owner: job.owner, columns: meaning.columns });
      if (this.held.get(id) === held) this.held.delete(id);
      if (!isOurs) return { ...STALE, gone: job };
      this.settled.add(claim);
      return { isAccepted: true, written: { job, outcome: meaning } };
    } finally {
      this.settling.delete(claim);
    }
  }
}
