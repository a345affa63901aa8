import type { ChannelHub } from '../../../redis/channel-hub.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import { parseEvent, type KeysOf } from '../wire/protocol.js';

/** How long it is remembered that plain clients send jobs of a function. It is renewed twice in this time. */
const REMEMBER_MS = 3_600_000;
/** Plain clients publish a job before they queue it, so the checks come a little later. */
const LOOKS_AFTER_MS = [3, 50];
/** With more messages per second than this the worker stops listening and relies on the leader's periodic check. */
const MAX_EVENTS = 1000;
const SECOND_MS = 1000;
const REST_MS = 10_000;

export interface PlainJobsConnections {
  readonly commands: RedisConnection;
  readonly hub: ChannelHub;
}

interface Listening {
  /** Unsubscribes; undefined until the server has acknowledged the subscription. */
  stop?: (() => void) | undefined;
  ended: boolean;
  events: number;
  since: number;
  /** Timers of the next checks, in the order of LOOKS_AFTER_MS. */
  readonly looks: (NodeJS.Timeout | undefined)[];
}

/**
 * Plain clients set no wake marker. If they send jobs of a function, its leader subscribes to its channel and sets
 * markers, so that these jobs need not wait for the periodic check.
 */
export class PlainJobs {
  private readonly listening = new Map<string, Listening>();
  private readonly notedAt = new Map<string, number>();
  private readonly restUntil = new Map<string, number>();
  private closed = false;

  constructor(
    private readonly connections: PlainJobsConnections,
    private readonly keysOf: KeysOf,
    /** Sets the function's marker if it has work. */
    private readonly look: (fn: string) => Promise<void>,
  ) {}

  /** Records for the leader, which may be another worker, that a plain client's job of this function was claimed. */
  saw(fn: string): void {
    const now = performance.now();
    if (this.closed || now - (this.notedAt.get(fn) ?? -Infinity) < REMEMBER_MS / 2) return;
    this.notedAt.set(fn, now);
    this.note(fn).catch(() => this.notedAt.delete(fn));
  }

  /** Begins or stops listening for this function. */
  listen(fn: string, listens: boolean): void {
    const resting = performance.now() < (this.restUntil.get(fn) ?? 0);
    if (!listens || resting) this.leave(fn);
    else if (!this.closed && !this.listening.has(fn)) this.begin(fn).catch(() => this.leave(fn));
  }

  close(): void {
    this.closed = true;
    for (const fn of [...this.listening.keys()]) this.leave(fn);
  }

  private async note(fn: string): Promise<void> {
    const redis = await this.connections.commands.ready();
    await redis.set(this.keysOf(fn).plain, '1', 'PX', REMEMBER_MS);
  }

  private async begin(fn: string): Promise<void> {
    const one: Listening = { ended: false, events: 0, since: performance.now(), looks: [] };
    this.listening.set(fn, one);
    const message = (text: string) => this.heard(fn, one, text);
    const stop = await this.connections.hub.listen(this.keysOf(fn).channel, { message });
    if (one.ended) stop();
    else one.stop = stop;
  }

  private leave(fn: string): void {
    const one = this.listening.get(fn);
    if (!one) return;
    this.listening.delete(fn);
    one.ended = true;
    one.stop?.();
    for (const look of one.looks.splice(0)) clearTimeout(look);
  }

  private heard(fn: string, one: Listening, text: string): void {
    const now = performance.now();
    if (now - one.since > SECOND_MS) [one.since, one.events] = [now, 0];
    one.events += 1;
    if (one.events > MAX_EVENTS) {
      this.restUntil.set(fn, now + REST_MS);
      return this.leave(fn);
    }
    if (parseEvent(text)?.type === 'create') this.lookSoon(fn, one);
  }

  /** Schedules a check; events before it share it. */
  private lookSoon(fn: string, { looks }: Listening): void {
    LOOKS_AFTER_MS.forEach((ms, index) => {
      looks[index] ??= setTimeout(() => {
        looks[index] = undefined;
        this.look(fn).catch(() => undefined);
      }, ms).unref();
    });
  }
}
