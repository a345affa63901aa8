/** How many idle values are kept before they are removed. */
const IDLE_KEPT = 1000;

/**
 * Values that are made when they are asked for, and removed some time after they became idle. A Map in which one name comes
 * and goes all the time gets slow; here it stays while many others are in use.
 */
export class KeptMap<V> {
  private readonly values = new Map<string, V>();
  private readonly idle = new Set<string>();

  constructor(
    private readonly make: (name: string) => V,
    private readonly isIdle: (value: V) => boolean,
  ) {}

  get(name: string): V | undefined {
    return this.values.get(name);
  }

  ensure(name: string): V {
    const found = this.values.get(name);
    if (found !== undefined) return found;
    const made = this.make(name);
    this.values.set(name, made);
    return made;
  }

  /** Has to be called when a value may have become idle. */
  review(name: string, value: V): void {
    if (!this.isIdle(value)) return;
    this.idle.add(name);
    if (this.idle.size <= IDLE_KEPT) return;
    for (const other of this.idle) {
      const one = this.values.get(other);
      if (one !== undefined && this.isIdle(one)) this.values.delete(other);
    }
    this.idle.clear();
  }

  /** All that are kept, idle ones included. */
  [Symbol.iterator](): IterableIterator<[string, V]> {
    return this.values[Symbol.iterator]();
  }
}
