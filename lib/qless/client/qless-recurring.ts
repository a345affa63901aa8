import type { QlessCalls } from './calls.js';
import type { Duration } from '../../job/duration.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { dataText, optionArguments, toSeconds } from './options.js';
import type { RecurringRecord } from '../wire/replies.js';
import * as scripts from '../wire/scripts.js';
import { showAs } from '../../job/show-as.js';

/** Changes of a recurring job. */
export interface RecurringUpdate {
  /** The next job is put earlier or later by the difference. */
  interval?: Duration;
  priority?: number;
  retries?: number;
  data?: unknown;
  klass?: string;
  /** The queue that its jobs are put into. */
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

/** A recurring job as it was when it was read, with methods that change it. */
export class QlessRecurringJob {
  static {
    showAs(QlessRecurringJob, ({ record: { jid, klass, queue } }) => ({ jid, klass, queue }));
  }

  /** @internal */
  constructor(
    private readonly calls: QlessCalls,
    /** All fields as the core writes them, times in seconds. */
    readonly record: RecurringRecord,
  ) {}

  get jid(): string {
    return this.record.jid;
  }

  get data(): unknown {
    return JSON.parse(this.record.data);
  }

  /** Milliseconds from one job to the next. */
  get interval(): number {
    return this.record.interval * 1000;
  }

  /** Changes it. @throws ConfigurationError, InvalidOptionError, QlessJobNotFoundError, QlessArgumentError */
  async update(update: RecurringUpdate): Promise<void> {
    const { data, interval, ...changes } = checkOptions('update', update, UPDATE);
    const text = data === undefined ? undefined : dataText(this.record.klass, data);
    const seconds = interval === undefined ? undefined : toSeconds('interval', interval);
    const given = optionArguments({ ...changes, interval: seconds, data: text });
    await this.calls.sendOnce(scripts.updateRecurring, this.jid, given);
  }

  /** Adds tags, and returns all tags. @throws QlessJobNotFoundError */
  tag(...tags: string[]): Promise<string[]> {
    return this.calls.sendRetrying(scripts.tagRecurring, this.jid, tags);
  }

  /** Removes tags, and returns the rest. @throws QlessJobNotFoundError */
  untag(...tags: string[]): Promise<string[]> {
    return this.calls.sendRetrying(scripts.untagRecurring, this.jid, tags);
  }

  /** Deletes it. Jobs that it has put stay. */
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

  /** Returns the recurring job, or null if there is none of that jid. */
  async get(jid: string): Promise<QlessRecurringJob | null> {
    const record = await this.calls.sendRetrying(scripts.recurring, jid);
    return record && new QlessRecurringJob(this.calls, record);
  }
}
