import type { Clock } from '../job/clock.js';

interface Alarm {
  /** When it is due, by `elapsed`. */
  readonly at: number;
  ring(): void;
}

const none = (): number => 0;

/** A clock that only moves when a test moves it, and then runs callbacks in order. */
export class TestClock implements Clock {
  private passed = 0;
  /** The value of `now` at the start. */
  private start: number;
  private readonly alarms = new Set<Alarm>();
  /** Milliseconds since the last move, while another clock drives this one. */
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

  /** Follows another clock, which returns the milliseconds that have passed, until `undefined` is given. */
  follow(passed: (() => number) | undefined): void {
    this.ahead = passed ?? none;
  }

  /** Moves forward, and runs the callbacks that fall due. */
  moveTo(now: number): void {
    const end = now - this.start;
    for (let next = this.first(end); next; next = this.first(end)) {
      this.alarms.delete(next);
      this.passed = Math.max(this.passed, next.at);
      next.ring();
    }
    this.passed = Math.max(this.passed, end);
  }

  /** Sets another date, possibly an earlier one, without letting time pass. */
  setBack(now: number): void {
    this.start = now - this.passed;
  }

  /** The next alarm that is due by then; of two with the same time, the one set first. */
  private first(end: number): Alarm | undefined {
    let first: Alarm | undefined;
    for (const alarm of this.alarms) if (alarm.at <= end && !(first && first.at <= alarm.at)) first = alarm;
    return first;
  }
}
