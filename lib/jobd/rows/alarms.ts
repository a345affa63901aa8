import { MAX_TIMER_MS } from '../../job/duration.js';

/** Calls back with targets at given times; targets with the same time come together. */
export class Alarms {
  private readonly alarms = new Map<number, { timer: NodeJS.Timeout; targets: Set<string> }>();

  constructor(private readonly ring: (targets: readonly string[]) => void) {}

  /** @param time seconds since 1970; the call for a time in the far future comes early */
  set(time: number, targets: readonly string[]): void {
    const alarm = this.alarms.get(time) ?? { timer: this.timerTo(time), targets: new Set() };
    for (const target of targets) alarm.targets.add(target);
    this.alarms.set(time, alarm);
  }

  clear(): void {
    for (const { timer } of this.alarms.values()) clearTimeout(timer);
    this.alarms.clear();
  }

  private timerTo(time: number): NodeJS.Timeout {
    const wait = Math.min(MAX_TIMER_MS, Math.max(0, time * 1000 - Date.now()));
    return setTimeout(() => {
      const targets = this.alarms.get(time)?.targets ?? [];
      this.alarms.delete(time);
      this.ring([...targets]);
    }, wait);
  }
}
