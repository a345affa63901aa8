import type { QlessCalls } from './calls.js';
import type { Duration } from '../../job/duration.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { dataText, optionArguments, toSeconds } from './options.js';
import type { RecurringRecord } from '../wire/replies.js';
import * as scripts from '../wire/scripts.js';
import { showAs } from '../../job/show-as.js';

/** What of a recurring job may be changed. */
export interface RecurringUpdate {
  /** The next run is shifted by the difference. */
  interval?: Duration;
  priority?: number;
  retries?: number;
  data?: unknown;
  klass?: string;
  /** Moves it. */
  queue?: string;
  backlog?: number;
}

const UPDATE = optionNames<RecurringUpdate>({
  interval: true,
  priority: true,
  retries: true,
  data: true,
  klass: true,
  queue: true,
  backlog: true,
});

/** A recurring job as it was when it was read. */
export class QlessRecurringJob {
  static {
    showAs(QlessRecurringJob, ({ record: { jid, klass, queue } }) => ({ jid, klass, queue }));
  }

  /** @internal */
  constructor(
    private readonly calls: QlessCalls,
    /** As the core writes it, in seconds. */
    readonly record: RecurringRecord,
  ) {}

  get jid(): string {
    return this.record.jid;
  }

  get data(): unknown {
    return JSON.parse(this.record.data);
  }

  /** Milliseconds from one run to the next. */
  get interval(): number {
    return this.record.interval * 1000;
  }

  /** @throws ConfigurationError, InvalidOptionError, QlessJobNotFoundError, QlessArgumentError */
  async update(update: RecurringUpdate): Promise<void> {
    const { data, interval, ...changes } = checkOptions('update', update, UPDATE);
    const text = data === undefined ? undefined : dataText(this.record.klass, data);
    const seconds = interval === undefined ? undefined : toSeconds('interval', interval);
    const given = optionArguments({ ...changes, interval: seconds, data: text });
    await this.calls.sendOnce(scripts.updateRecurring, this.jid, given);
  }

  /** Its tags. @throws QlessJobNotFoundError */
  tag(...tags: string[]): Promise<string[]> {
    return this.calls.sendRetrying(scripts.tagRecurring, this.jid, tags);
  }

  /** Its tags. @throws QlessJobNotFoundError */
  untag(...tags: string[]): Promise<string[]> {
    return this.calls.sendRetrying(scripts.untagRecurring, this.jid, tags);
  }

  /** No more jobs are put; those that were stay. */
  async cancel(): Promise<void> {
    await this.calls.sendRetrying(scripts.unrecur, this.jid);
  }
}

/** Recurring jobs by their jid. */
export class QlessRecurring {
  static {
    showAs(QlessRecurring, ({ calls: { connections } }) => ({
      server: connections.commands.address,
      prefix: connections.prefix,
    }));
  }

  /** @internal */
  constructor(private readonly calls: QlessCalls) {}

  async get(jid: string): Promise<QlessRecurringJob | null> {
    const record = await this.calls.sendRetrying(scripts.recurring, jid);
    return record && new QlessRecurringJob(this.calls, record);
  }
}
