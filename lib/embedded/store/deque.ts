/** A list that grows and shrinks at both ends in constant time. */
export class Deque {
  private items: (string | undefined)[] = places(8);
  private head = 0;
  private count = 0;

  get length(): number {
    return this.count;
  }

  at(index: number): string | undefined {
    return index < 0 || index >= this.count ? undefined : this.items[this.place(index)];
  }

  push(item: string): void {
    if (this.count === this.items.length) this.grow();
    this.items[this.place(this.count)] = item;
    this.count += 1;
  }

  unshift(item: string): void {
    if (this.count === this.items.length) this.grow();
    this.head = this.place(this.items.length - 1);
    this.items[this.head] = item;
    this.count += 1;
  }

  pop(): string | undefined {
    if (this.count === 0) return undefined;
    this.count -= 1;
    const at = this.place(this.count);
    const item = this.items[at];
    this.items[at] = undefined;
    return item;
  }

  shift(): string | undefined {
    if (this.count === 0) return undefined;
    const item = this.items[this.head];
    this.items[this.head] = undefined;
    this.head = this.place(1);
    this.count -= 1;
    return item;
  }

  /** Its items from `start` up to `end`, without it. */
  slice(start = 0, end = this.count): string[] {
    const list: string[] = [];
    for (let i = Math.max(0, start); i < Math.min(end, this.count); i++) list.push(this.at(i) as string);
    return list;
  }

  replace(items: readonly string[]): void {
    this.items = places(Math.max(8, 2 ** Math.ceil(Math.log2(items.length + 1))));
    this.head = 0;
    this.count = 0;
    for (const item of items) this.push(item);
  }

  /** The length of `items` is a power of two. */
  private place(index: number): number {
    return (this.head + index) & (this.items.length - 1);
  }

  private grow(): void {
    const items = this.slice();
    this.items = [...items, ...places(items.length)];
    this.head = 0;
  }
}

function places(length: number): (string | undefined)[] {
  return Array.from({ length });
}
