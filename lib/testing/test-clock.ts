import type { Clock } from '../job/clock.js';

interface Alarm {
  /** By `elapsed`. */
  readonly at: number;
  ring(): void;
}

const none = (): number => 0;

/** A clock that stands still until it is moved, and then calls back in order. */
export class TestClock implements Clock {
  private passed = 0;
  /** What `now` was when nothing had passed. */
  private start: number;
  private readonly alarms = new Set<Alarm>();
  /** Milliseconds since the last move, while another clock leads. */
  private ahead = none;

  constructor(start: number) {
    this.start = start;
  }

  now(): number {
    return this.start + this.elapsed();
  }

  elapsed(): number {
    return this.passed + this.ahead();
  }

  after(ms: number, callback: () => void): () => void {
    const alarm: Alarm = { at: this.elapsed() + Math.max(0, ms), ring: callback };
    this.alarms.add(alarm);
    return () => this.alarms.delete(alarm);
  }

  /** When the first alarm is due, in ms since 1970; Infinity if there is none. */
  get nextAlarm(): number {
    let next = Infinity;
    for (const { at } of this.alarms) next = Math.min(next, at);
    return this.start + next;
  }

  /** Goes with another clock, which says how many ms have passed, until `undefined` is given. */
  follow(passed: (() => number) | undefined): void {
    this.ahead = passed ?? none;
  }

  /** Moves on, and calls back what falls due on the way. */
  moveTo(now: number): void {
    const end = now - this.start;
    for (let next = this.first(end); next; next = this.first(end)) {
      this.alarms.delete(next);
      this.passed = Math.max(this.passed, next.at);
      next.ring();
    }
    this.passed = Math.max(this.passed, end);
  }

  /** Another date, also one before: no time has passed. */
  setBack(now: number): void {
    this.start = now - this.passed;
  }

  /** Of those that are due then; of two for one time that which was set first. */
  private first(end: number): Alarm | undefined {
    let first: Alarm | undefined;
    for (const alarm of this.alarms) if (alarm.at <= end && !(first && first.at <= alarm.at)) first = alarm;
    return first;
  }
}
