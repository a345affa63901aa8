import type { QlessCalls } from './calls.js';
import { dataText, optionArguments } from './options.js';
import type { RecurringRecord } from '../wire/replies.js';
import * as scripts from '../wire/scripts.js';

/** What of a recurring job may be changed. */
export interface RecurringUpdate {
  /** Seconds; the next run is shifted by the difference. */
  interval?: number;
  priority?: number;
  retries?: number;
  data?: unknown;
  klass?: string;
  /** Moves it. */
  queue?: string;
  backlog?: number;
}

/** A recurring job as it was when it was read. */
export class QlessRecurringJob {
  constructor(
    private readonly calls: QlessCalls,
    readonly record: RecurringRecord,
  ) {}

  get jid(): string {
    return this.record.jid;
  }

  get data(): unknown {
    return JSON.parse(this.record.data);
  }

  /** @throws QlessJobNotFoundError, QlessArgumentError */
  async update({ data, ...changes }: RecurringUpdate): Promise<void> {
    const text = data === undefined ? undefined : dataText(this.record.klass, data);
    await this.calls.tell(scripts.updateRecurring, this.jid, optionArguments({ ...changes, data: text }));
  }

  /** Its tags. @throws QlessJobNotFoundError */
  tag(...tags: string[]): Promise<string[]> {
    return this.calls.ask(scripts.tagRecurring, this.jid, tags);
  }

  /** Its tags. @throws QlessJobNotFoundError */
  untag(...tags: string[]): Promise<string[]> {
    return this.calls.ask(scripts.untagRecurring, this.jid, tags);
  }

  /** No more jobs are put; those that were stay. */
  async cancel(): Promise<void> {
    await this.calls.ask(scripts.unrecur, this.jid);
  }
}

/** Recurring jobs by their jid. */
export class QlessRecurring {
  constructor(private readonly calls: QlessCalls) {}

  async get(jid: string): Promise<QlessRecurringJob | null> {
    const record = await this.calls.ask(scripts.recurring, jid);
    return record && new QlessRecurringJob(this.calls, record);
  }
}
