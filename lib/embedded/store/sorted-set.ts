interface Entry {
  readonly member: string;
  readonly score: number;
}

/** One end of a range of scores. */
export interface Bound {
  readonly score: number;
  /** Whether the score itself is outside of the range. */
  readonly isOpen: boolean;
}

/** Members in the order of their scores; those with the same score by their bytes. */
export class SortedSet {
  private readonly scores = new Map<string, number>();
  private entries: Entry[] = [];
  /** Members whose scores have changed, for a reader that keeps an order of its own. */
  readonly changed: string[] = [];
  /** Whether there is such a reader. */
  isWatched = false;

  get size(): number {
    return this.entries.length;
  }

  score(member: string): number | undefined {
    return this.scores.get(member);
  }

  set(member: string, score: number): void {
    const known = this.scores.get(member);
    if (known === score) return;
    if (known !== undefined) this.entries.splice(this.rank(member, known), 1);
    this.scores.set(member, score);
    if (this.isWatched) this.changed.push(member);
    const { entries } = this;
    const last = entries[entries.length - 1];
    const entry = { member, score };
    // Most scores are times, and grow.
    if (!last || isBefore(last, entry)) entries.push(entry);
    else entries.splice(this.rank(member, score), 0, entry);
  }

  delete(member: string): boolean {
    const score = this.scores.get(member);
    if (score === undefined) return false;
    this.entries.splice(this.rank(member, score), 1);
    this.scores.delete(member);
    return true;
  }

  /** The index of the first entry that is not below a bound. */
  from({ score, isOpen }: Bound): number {
    return this.search((entry) => (isOpen ? entry.score <= score : entry.score < score));
  }

  /** The index behind the last entry that is not above a bound. */
  to({ score, isOpen }: Bound): number {
    return this.search((entry) => (isOpen ? entry.score < score : entry.score <= score));
  }

  /** Where members begin that are not before one, or are behind it. Only of a set whose scores are all the same. */
  fromMember(member: string, isBehind: boolean): number {
    return this.search((entry) => (isBehind ? entry.member <= member : entry.member < member));
  }

  slice(start: number, end: number): readonly Entry[] {
    return this.entries.slice(start, end);
  }

  all(): readonly Entry[] {
    return this.entries;
  }

  remove(start: number, end: number): number {
    const removed = this.entries.splice(start, Math.max(0, end - start));
    for (const { member } of removed) this.scores.delete(member);
    return removed.length;
  }

  /** Where an entry is, or would be. */
  private rank(member: string, score: number): number {
    const wanted = { member, score };
    return this.search((entry) => isBefore(entry, wanted));
  }

  /** How many entries at the beginning are so. */
  private search(isSo: (entry: Entry) => boolean): number {
    let [low, high] = [0, this.entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isSo(this.entries[middle] as Entry)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.score < b.score || (a.score === b.score && a.member < b.member);
}
