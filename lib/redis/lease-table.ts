/** Jobs per segment; segments are added as needed. */
const SEGMENT_SIZE = 1024;

/** Leases as numbers in memory shared with the keeper's thread. A `token` of 0 marks a free row. */
export interface LeaseSegment {
  /** Index of the group in the list of groups. */
  readonly group: Int32Array;
  readonly id: Float64Array;
  /** When renewal of the lease ends, in the keeper's shared time; Infinity for no deadline. */
  readonly deadline: Float64Array;
  readonly token: Float64Array;
}

/** A row of the table. */
export type LeaseRow = number;

/**
 * The leases of this process. The main thread writes a row when it claims a job and frees it after settling. Since no
 * message goes to the thread, a lease costs almost nothing.
 */
export class LeaseTable {
  private readonly segments: LeaseSegment[] = [];
  private readonly free: LeaseRow[] = [];

  constructor(private readonly onSegment: (segment: LeaseSegment) => void) {}

  /** Returns undefined for an id that is no number: the table can't hold such a lease. */
  hold(group: number, id: string, token: number): LeaseRow | undefined {
    const number = Number(id);
    if (!Number.isSafeInteger(number) || String(number) !== id) return undefined;
    if (this.free.length === 0) this.grow();
    const row = this.free.pop() as LeaseRow;
    const [segment, index] = this.at(row);
    segment.group[index] = group;
    segment.id[index] = number;
    segment.deadline[index] = Infinity;
    // Written last: a row with a token is complete for the thread.
    segment.token[index] = token;
    return row;
  }

  limit(row: LeaseRow, deadline: number): void {
    const [segment, index] = this.at(row);
    segment.deadline[index] = deadline;
  }

  drop(row: LeaseRow): void {
    const [segment, index] = this.at(row);
    segment.token[index] = 0;
    this.free.push(row);
  }

  private at(row: LeaseRow): [LeaseSegment, number] {
    return [this.segments[Math.floor(row / SEGMENT_SIZE)] as LeaseSegment, row % SEGMENT_SIZE];
  }

  private grow(): void {
    const shared = (bytes: number) => new SharedArrayBuffer(SEGMENT_SIZE * bytes);
    const segment: LeaseSegment = {
      group: new Int32Array(shared(4)),
      id: new Float64Array(shared(8)),
      deadline: new Float64Array(shared(8)),
      token: new Float64Array(shared(8)),
    };
    const first = this.segments.length * SEGMENT_SIZE;
    this.segments.push(segment);
    for (let row = first + SEGMENT_SIZE - 1; row >= first; row--) this.free.push(row);
    this.onSegment(segment);
  }
}
