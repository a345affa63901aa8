// Of the modules, not the globals: a test's fake timers must not keep jobs from being found.
import { performance } from 'node:perf_hooks';
import { clearTimeout, setTimeout } from 'node:timers';
import type { FunctionStates } from './function-states.js';
import { Leadership } from './leadership.js';
import type { Notifier, NotifierParts } from './notifier.js';

/** How long a function keeps a leader that died, in intervals. */
const HOLD_INTERVALS = 4;

/**
 * Has idle functions asked for jobs each so often, for servers that are paid by the command: no call blocks, and no leader looks
 * each second. Jobs that are due at a known time are asked for then.
 */
export class PollingNotifier implements Notifier {
  readonly isDown = false;
  private readonly functions = new Set<string>();
  private readonly states: FunctionStates;
  private readonly leadership: Leadership;
  private timer: NodeJS.Timeout | undefined;
  /** When the timer fires. */
  private armedFor = Infinity;
  /** When all were asked for last. */
  private polledAt = performance.now();
  private closed = false;

  /** @param interval in ms */
  constructor(
    private readonly parts: NotifierParts,
    private readonly interval: number,
  ) {
    const { commands, worker, keysOf, housekeeper, duties, failures, states } = parts;
    this.states = states;
    this.leadership = new Leadership({
      ...{ commands, worker, keysOf, housekeeper, duties, failures },
      pace: { look: interval, hold: HOLD_INTERVALS * interval },
      idle: () => this.waiting(),
      onDue: (fn, wait) => {
        states.expect(fn, wait);
        this.arm(states.due(fn));
      },
      // A job of a plain client is found by the next poll.
      onListen: () => undefined,
    });
  }

  serve(fn: string): void {
    this.leadership.serve(fn);
  }

  await(fn: string): void {
    this.functions.add(fn);
    this.arm(Math.min(this.polledAt + this.interval, this.states.due(fn)));
  }

  leave(fn: string): Promise<void> {
    this.functions.delete(fn);
    this.states.forget(fn);
    return this.leadership.leave(fn);
  }

  interrupt(): void {
    // No call is under way.
  }

  look(fn: string): Promise<void> {
    if (!this.states.isWaiting(fn)) return this.leadership.lookAround([fn]);
    this.wake(fn);
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    this.states.drain();
    await this.leadership.close();
  }

  disconnect(): void {
    // It has no connection of its own.
  }

  private waiting(): string[] {
    return [...this.functions].filter((fn) => this.states.isWaiting(fn));
  }

  /** One without a free slot asks as soon as it has one. */
  private wake(fn: string): void {
    this.states.apply(fn, 'wake');
    this.parts.listener.onWork(fn);
  }

  /** Polls at this time, by `performance.now()`, unless it will do so before. */
  private arm(at: number): void {
    if (this.closed || at >= this.armedFor) return;
    clearTimeout(this.timer);
    this.armedFor = at;
    this.timer = setTimeout(() => this.poll(), Math.max(1, Math.ceil(at - performance.now()))).unref();
  }

  private poll(): void {
    const now = performance.now();
    this.armedFor = Infinity;
    const isTime = now - this.polledAt >= this.interval;
    if (isTime) this.polledAt = now;
    for (const fn of this.waiting()) if (isTime || this.states.due(fn) <= now) this.wake(fn);
    this.arm(Math.min(this.polledAt + this.interval, ...this.waiting().map((fn) => this.states.due(fn))));
  }
}
