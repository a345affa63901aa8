/** Values with a time each, in the order of these times. */
export class Agenda<T> {
  private readonly entries: { readonly value: T; readonly at: number }[] = [];
  private readonly times = new Map<T, number>();

  /** The first time, in ms since 1970, or Infinity. */
  get next(): number {
    return this.entries[0]?.at ?? Infinity;
  }

  timeOf(value: T): number | undefined {
    return this.times.get(value);
  }

  /** Sets the time of a value. Of several with one time the first that was set comes first. */
  set(value: T, at: number): void {
    if (this.times.get(value) === at) return;
    this.delete(value);
    this.times.set(value, at);
    this.entries.splice(this.countUntil(at), 0, { value, at });
  }

  /** Sets the time of a value unless it has an earlier one. */
  setFirst(value: T, at: number): void {
    if (at < (this.times.get(value) ?? Infinity)) this.set(value, at);
  }

  delete(value: T): boolean {
    const at = this.times.get(value);
    if (at === undefined) return false;
    this.times.delete(value);
    let index = this.countUntil(at) - 1;
    while (this.entries[index]?.value !== value) index -= 1;
    this.entries.splice(index, 1);
    return true;
  }

  /** Removes and returns those whose time has come. */
  take(now: number): T[] {
    const taken = this.entries.splice(0, this.countUntil(now)).map(({ value }) => value);
    for (const value of taken) this.times.delete(value);
    return taken;
  }

  *[Symbol.iterator](): Generator<{ readonly value: T; readonly at: number }> {
    yield* this.entries;
  }

  /** How many have this time or an earlier one. */
  private countUntil(at: number): number {
    let [low, high] = [0, this.entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.entries[middle]?.at ?? Infinity) <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
