import { Inject, Injectable } from '@nestjs/common';
import { JobNotFoundError } from '../job/errors.js';
import { JOB_STATES, type JobState } from '../job/job-state.js';
import type { JobList, ListedJob } from '../job/job-views.js';
import { readEntry } from '../job/streams.js';
import type { DescribedJob } from '../gearmonkey/features/views/view-store.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import { wholeJob } from './job-view.js';
import { Redaction, type RedactedText } from './redaction.js';
import { shownText, withoutHalf } from './shown-text.js';
import { SharedReads } from './shared-reads.js';
import { DashboardAccess, type ViewedFunction } from './viewed-instance.js';

/** The query of a request: everything is text, or a list if it stands twice. */
export type Query = Readonly<Record<string, unknown>>;

/** Most bytes of a payload that the page gets. */
const SHOWN_BYTES = 65_536;
/** Most characters of a message in lists: less than Redis cuts it at, so that `redact` sees the whole of what ends behind them. */
const LISTED_MESSAGE = 2000;
/** Most bytes that `redact` gets of one: more, so that it sees the whole of what is cut off behind what is shown. */
const MOST_REDACTED = 1_048_576;
/** Largest payload that is downloaded, and how many are at a time: they pass through the memory of the app. */
const MOST_DOWNLOADED = 64 * 1_048_576;
const MOST_DOWNLOADS = 2;

/** Reads jobs for the page. */
@Injectable()
export class JobReads {
  private downloads = 0;

  constructor(
    @Inject(DashboardAccess) private readonly access: DashboardAccess,
    @Inject(Redaction) private readonly redaction: Redaction,
    @Inject(SharedReads) private readonly reads: SharedReads,
  ) {}

  async list(user: DashboardUser, query: Query) {
    const viewed = this.access.viewed(user, query['i'], query['fn']);
    const state = JOB_STATES.find((known) => known === query['state']);
    if (!state) throw ApiFailure.invalid('state', `one of ${JOB_STATES.join(', ')}`);
    const { order, size, page } = pageOf(query);
    const found = await viewed.client.list(viewed.fn, { state, order, size, page });
    return this.shownList(viewed, found);
  }

  async find(user: DashboardUser, query: Query) {
    const viewed = this.access.viewed(user, query['i'], query['fn']);
    const by = (['id', 'tag', 'key'] as const).find((name) => typeof query[name] === 'string');
    if (by === undefined) throw ApiFailure.invalid('tag', 'text, or `key` or `id` in its place');
    const { order, ...paging } = pageOf(query);
    const sought = { [by]: query[by], ...paging, ...(by === 'tag' && { order }) };
    return this.shownList(viewed, await viewed.client.find(viewed.fn, sought));
  }

  /** All of a job but its payloads. @throws JobNotFoundError */
  async job(user: DashboardUser, query: Query) {
    const viewed = this.access.viewed(user, query['i'], query['fn']);
    const id = idOf(query);
    const described = await this.reads.described(viewed, id);
    if (!described) throw new JobNotFoundError(viewed.fn, id);
    return this.shownJob(user, viewed, id, described);
  }

  shownJob(user: DashboardUser, viewed: ViewedFunction, id: string, described: DescribedJob) {
    const job = wholeJob(viewed.fn, id, described, Date.now());
    return {
      ...this.redaction.job(job, { instance: viewed.i, fn: viewed.fn }),
      actions: this.access.actionsOf(user, viewed.fn, viewed.i),
    };
  }

  async payload(user: DashboardUser, query: Query) {
    const asked = this.asked(user, query);
    const { viewed, id, field } = asked;
    const { status, length, bytes } = need(
      await viewed.client.payload(viewed.fn, id, field, this.redaction.isOn ? MOST_REDACTED : SHOWN_BYTES),
      field,
    );
    const isWhole = bytes.length === length;
    const whole = this.redacted(asked, status, isWhole ? bytes : withoutHalf(bytes), isWhole);
    const shown = shownText(Buffer.from(whole.text), SHOWN_BYTES).text;
    return {
      ...{ text: shown, encoding: whole.encoding, bytes: length },
      cut: !isWhole || shown.length < whole.text.length,
      redacted: whole.redacted,
      ...(whole.hidden && { hidden: true as const }),
    };
  }

  /** What a job has streamed, from an entry on. @throws JobNotFoundError */
  async stream(user: DashboardUser, query: Query) {
    const { client, fn, i } = this.access.viewed(user, query['i'], query['fn']);
    const { kind } = query;
    if (kind !== 'output' && kind !== 'log') throw ApiFailure.invalid('kind', 'output or log');
    const page = await client.streamed(fn, idOf(query), kind, fromOf(query));
    const what =
      kind === 'log' ? { part: 'log' as const } : { part: 'chunk' as const, codec: client.codecOf(fn) };
    const of = { instance: i, fn };
    const entries = page.entries.flatMap((bytes) => {
      const entry = readEntry(bytes);
      if (!entry) return [];
      const shown = this.redaction.bytes(Buffer.from(entry.value), { ...what, isWhole: true, of });
      const { text, encoding } = shown;
      return [{ at: new Date(entry.time), text: text.slice(0, SHOWN_BYTES), encoding }];
    });
    return { entries, next: page.next, total: page.total };
  }

  /**
   * Reads a whole payload for a download, redacted like what is shown.
   *
   * @param send resolves when it is no longer in the memory
   * @throws ApiFailure 403 if nothing of it may be shown, 404, 413, 429
   */
  async download(user: DashboardUser, query: Query, send: (bytes: Buffer) => Promise<void>): Promise<void> {
    const asked = this.asked(user, query);
    const { viewed, id, field } = asked;
    const { status, length } = need(await viewed.client.payload(viewed.fn, id, field, 0), field);
    if (length > MOST_DOWNLOADED)
      throw new ApiFailure(413, 'TOO_LARGE', `It has ${length} bytes, more than ${MOST_DOWNLOADED}.`);
    if (this.downloads >= MOST_DOWNLOADS)
      throw new ApiFailure(
        429,
        'TOO_MANY_DOWNLOADS',
        `${MOST_DOWNLOADS} downloads are under way. Try again.`,
      );
    this.downloads += 1;
    try {
      const bytes = need(await viewed.client.wholePayload(viewed.fn, id, field), field);
      const { text, redacted, hidden } = this.redacted(asked, status, bytes, true);
      if (hidden) throw ApiFailure.notAllowed('see this: it is hidden, since `redact` can not read it');
      await send(redacted ? Buffer.from(text) : bytes);
    } finally {
      this.downloads -= 1;
    }
  }

  /** All of a job but its payloads, not redacted. @throws JobNotFoundError */
  async described({ client, fn }: ViewedFunction, id: string): Promise<DescribedJob> {
    const described = await client.described(fn, id);
    if (!described) throw new JobNotFoundError(fn, id);
    return described;
  }

  private asked(user: DashboardUser, query: Query) {
    const viewed = this.access.viewed(user, query['i'], query['fn']);
    const field = query['part'];
    if (field !== 'input' && field !== 'output') throw ApiFailure.invalid('part', 'input or output');
    return { viewed, field, id: idOf(query) } as const;
  }

  private redacted(
    { viewed: { client, i, fn }, field }: ReturnType<JobReads['asked']>,
    status: string,
    bytes: Buffer,
    isWhole: boolean,
  ): RedactedText {
    // Then the output is the error's message.
    const isError = field === 'output' && status === 'error';
    const codec = isError ? {} : { codec: client.codecOf(fn) };
    const part = isError ? 'error' : field;
    return this.redaction.bytes(bytes, { ...codec, isWhole, part, of: { instance: i, fn } });
  }

  private shownList(viewed: ViewedFunction, { jobs, total, next }: JobList) {
    return { jobs: jobs.map((job) => this.shownListed(viewed, job)), total, next };
  }

  /** Without payloads and stacks, which would make lists large. */
  shownListed({ i, fn }: ViewedFunction, job: Partial<ListedJob> & { state: JobState }): object {
    const { input: _input, output: _output, error, waitsFor, ...known } = job;
    const of = { instance: i, fn };
    const signals = waitsFor?.map((signal) => this.redaction.text(signal, 'name', of));
    const rest = { ...known, ...(signals && { waitsFor: signals }) };
    if (!error) return rest;
    const { name, message, code } = this.redaction.error(error, of);
    return { ...rest, error: { name, message: message.slice(0, LISTED_MESSAGE), code } };
  }
}

export function idOf({ id }: Query): string {
  if (typeof id !== 'string' || !/^\d{1,15}$/.test(id)) throw ApiFailure.invalid('id', 'the id of a job');
  return id;
}

/** The number of the entry of a list from which it is read. @throws ApiFailure 400 */
export function fromOf({ from = '0' }: Query): number {
  if (typeof from !== 'string' || !/^\d{1,15}$/.test(from))
    throw ApiFailure.invalid('from', 'the number of an entry');
  return Number(from);
}

function pageOf({ order, size, page }: Query) {
  return {
    order: order === 'oldest' ? ('oldest' as const) : ('newest' as const),
    size: typeof size === 'string' && /^\d{1,3}$/.test(size) ? Number(size) : 20,
    page: typeof page === 'string' ? page : '',
  };
}

/** @throws ApiFailure 404 */
function need<T>(found: T | undefined, field: string): T {
  if (found === undefined) throw ApiFailure.notFound(field);
  return found;
}
