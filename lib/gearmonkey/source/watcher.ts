import type { ChannelHub } from '../../redis/channel-hub.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { parseEvent, type KeysOf } from '../wire/protocol.js';
import * as scripts from '../wire/scripts.js';

/** How long nobody else watches when the watcher has died; it says so three times as often. */
const HOLD_MS = 3000;
/** The protocol publishes a job before it queues it: looks for it come this much later. */
const LOOKS_AFTER_MS = [3, 50];
/** Whoever hears more than this between two beats is needed for work: then the function's second must do. */
const MAX_EVENTS = 1000;
const REST_MS = 10_000;

export interface WatcherConnections {
  readonly commands: RedisConnection;
  readonly hub: ChannelHub;
}

interface Watched {
  /** Set while this worker is the one that watches. */
  stop?: (() => void) | undefined;
  events: number;
  restUntil: number;
  /** Those to come, in the order of LOOKS_AFTER_MS. */
  readonly looks: (NodeJS.Timeout | undefined)[];
}

/**
 * Plain clients push no wake marker. For functions that had a job of theirs, one of all workers hears the
 * channel and has markers set, so that these jobs need not wait for the next look of an idle worker.
 */
export class Watcher {
  private readonly functions = new Map<string, Watched>();
  private beats?: NodeJS.Timeout;
  private beating = false;
  private closed = false;

  constructor(
    private readonly connections: WatcherConnections,
    private readonly worker: string,
    private readonly keysOf: KeysOf,
    /** Sets the function's marker if it has work. */
    private readonly look: (fn: string) => Promise<void>,
  ) {}

  /** A plain client's job of this function was claimed. */
  saw(fn: string): void {
    if (this.closed || this.functions.has(fn)) return;
    this.functions.set(fn, { events: 0, restUntil: 0, looks: [] });
    this.beats ??= setInterval(() => void this.beat(), HOLD_MS / 3).unref();
    void this.beat();
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.beats);
    const { commands } = this.connections;
    for (const [fn, watched] of this.functions) {
      const watches = watched.stop !== undefined;
      this.leave(watched);
      if (watches && commands.isReady) await this.hold(fn, 0);
    }
  }

  /** What fails is left to the next beat. */
  private async beat(): Promise<void> {
    if (this.beating || !this.connections.commands.isReady) return;
    this.beating = true;
    await Promise.allSettled([...this.functions].map(([fn, watched]) => this.keep(fn, watched)));
    this.beating = false;
  }

  private async keep(fn: string, watched: Watched): Promise<void> {
    const now = performance.now();
    if (watched.events > MAX_EVENTS) watched.restUntil = now + REST_MS;
    watched.events = 0;
    const watches = now >= watched.restUntil && (await this.hold(fn, HOLD_MS));
    if (!watches) this.leave(watched);
    else if (!watched.stop) await this.listen(fn, watched);
  }

  private async hold(fn: string, ms: number): Promise<boolean> {
    const redis = await this.connections.commands.ready();
    return scripts.watch.run(redis, [this.keysOf(fn).watcher], this.worker, ms);
  }

  private async listen(fn: string, watched: Watched): Promise<void> {
    const message = (text: string) => {
      watched.events += 1;
      if (parseEvent(text)?.type === 'create') this.heard(fn, watched);
    };
    const stop = await this.connections.hub.listen(this.keysOf(fn).channel, { message });
    if (this.closed) stop();
    else watched.stop = stop;
  }

  private leave(watched: Watched): void {
    watched.stop?.();
    watched.stop = undefined;
    for (const look of watched.looks.splice(0)) clearTimeout(look);
  }

  /** Events that come before a look share it. */
  private heard(fn: string, { looks }: Watched): void {
    LOOKS_AFTER_MS.forEach((ms, index) => {
      looks[index] ??= setTimeout(() => {
        looks[index] = undefined;
        this.look(fn).catch(() => undefined);
      }, ms).unref();
    });
  }
}
