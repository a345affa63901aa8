/** Chance that a seed repeats: mulberry32, 32 bits of state, which is plenty for a schedule. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  int(from, to) {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick(list) {
    return list[this.int(0, list.length - 1)];
  }

  shuffle(list) {
    const rest = [...list];
    return list.map(() => rest.splice(this.int(0, rest.length - 1), 1)[0]);
  }
}
