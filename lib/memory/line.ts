interface Place<T> {
  readonly value: T;
  before: Place<T> | undefined;
  after: Place<T> | undefined;
}

/** Values one after the other, each at most once. No operation takes longer when there are more. */
export class Line<T> {
  private readonly places = new Map<T, Place<T>>();
  private head: Place<T> | undefined;
  private tail: Place<T> | undefined;

  get size(): number {
    return this.places.size;
  }

  get first(): T | undefined {
    return this.head?.value;
  }

  has(value: T): boolean {
    return this.places.has(value);
  }

  /** Adds a value behind the others. */
  push(value: T): void {
    const place: Place<T> = { value, before: this.tail, after: undefined };
    if (this.tail) this.tail.after = place;
    else this.head = place;
    this.tail = place;
    this.places.set(value, place);
  }

  /** Adds a value in front of the others. */
  unshift(value: T): void {
    const place: Place<T> = { value, before: undefined, after: this.head };
    if (this.head) this.head.before = place;
    else this.tail = place;
    this.head = place;
    this.places.set(value, place);
  }

  /** Returns whether it was there. */
  delete(value: T): boolean {
    const place = this.places.get(value);
    if (!place) return false;
    if (place.before) place.before.after = place.after;
    else this.head = place.after;
    if (place.after) place.after.before = place.before;
    else this.tail = place.before;
    return this.places.delete(value);
  }

  *[Symbol.iterator](): Generator<T> {
    for (let place = this.head; place; place = place.after) yield place.value;
  }
}
