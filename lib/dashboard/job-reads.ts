import { Inject, Injectable } from '@nestjs/common';
import { JobNotFoundError } from '../job/errors.js';
import { LISTED_STATES, type JobList, type ListedJob, type ListedState } from '../job/job-views.js';
import { readEntry } from '../job/streams.js';
import type { StoredJob } from '../gearmonkey/wire/stored-job.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import { payloadOf, shownText, wholeJob } from './job-view.js';
import { Redaction } from './redaction.js';
import { DashboardAccess, type ViewedFunction } from './viewed-instance.js';

/** The query of a request: everything is text, or a list if it stands twice. */
export type Query = Readonly<Record<string, unknown>>;

/** Most bytes of a payload that the page gets. */
const SHOWN_BYTES = 65_536;

/** Reads jobs for the page. */
@Injectable()
export class JobReads {
  constructor(
    @Inject(DashboardAccess) private readonly access: DashboardAccess,
    @Inject(Redaction) private readonly redaction: Redaction,
  ) {}

  async list(user: DashboardUser, query: Query) {
    const viewed = this.access.viewed(user, query['i'], query['fn']);
    const state = LISTED_STATES.find((known) => known === query['state']);
    if (!state) throw ApiFailure.invalid('state', `one of ${LISTED_STATES.join(', ')}`);
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
    return this.shownJob(user, viewed, id, await this.stored(viewed, id));
  }

  shownJob(user: DashboardUser, viewed: ViewedFunction, id: string, stored: StoredJob) {
    const job = wholeJob(viewed.fn, id, stored, Date.now());
    const of = { instance: viewed.i, fn: viewed.fn };
    return {
      ...job,
      ...(job.error && { error: this.redaction.error(job.error, of) }),
      errors: job.errors.map((error) => this.redaction.error(error, of)),
      headers: this.redaction.headers(job.headers, of),
      options: withoutHeaders(job.options),
      actions: this.access.actionsOf(user, viewed.fn, viewed.i),
    };
  }

  async payload(user: DashboardUser, query: Query) {
    const { viewed, bytes, part } = await this.bytesOf(user, query);
    const { text: whole, encoding } = shownText(bytes, Infinity);
    const text = this.redaction.text(whole, part, { instance: viewed.i, fn: viewed.fn });
    const shown = shownText(Buffer.from(text), SHOWN_BYTES);
    return {
      text: shown.text,
      encoding,
      bytes: bytes.length,
      cut: shown.text.length < text.length,
      redacted: text !== whole,
    };
  }

  /** What a job has streamed, from an entry on. @throws JobNotFoundError */
  async stream(user: DashboardUser, query: Query) {
    const { client, fn, i } = this.access.viewed(user, query['i'], query['fn']);
    const { kind } = query;
    if (kind !== 'output' && kind !== 'log') throw ApiFailure.invalid('kind', 'output or log');
    const page = await client.streamed(fn, idOf(query), kind, fromOf(query));
    const entries = page.entries.flatMap((bytes) => {
      const entry = readEntry(bytes);
      if (!entry) return [];
      const { text, encoding } = shownText(Buffer.from(entry.value), Infinity);
      const shown = this.redaction.text(text, kind === 'log' ? 'log' : 'chunk', { instance: i, fn });
      return [{ at: new Date(entry.time), text: shown.slice(0, SHOWN_BYTES), encoding }];
    });
    return { entries, next: page.next, total: page.total };
  }

  /** The whole payload for a download, redacted like what is shown. */
  async raw(user: DashboardUser, query: Query): Promise<Buffer> {
    const { viewed, bytes, part } = await this.bytesOf(user, query);
    const { text } = shownText(bytes, Infinity);
    const shown = this.redaction.text(text, part, { instance: viewed.i, fn: viewed.fn });
    return shown === text ? bytes : Buffer.from(shown);
  }

  /** @throws JobNotFoundError */
  async stored({ client, fn }: ViewedFunction, id: string): Promise<StoredJob> {
    const stored = await client.stored(fn, id);
    if (!stored) throw new JobNotFoundError(fn, id);
    return stored;
  }

  private async bytesOf(user: DashboardUser, query: Query) {
    const viewed = this.access.viewed(user, query['i'], query['fn']);
    const part = query['part'];
    if (part !== 'input' && part !== 'output') throw ApiFailure.invalid('part', 'input or output');
    const stored = await this.stored(viewed, idOf(query));
    const kind = part === 'output' && String(stored.get('status')) === 'error' ? 'error' : part;
    const bytes = payloadOf(stored, part);
    if (!bytes) throw ApiFailure.notFound(part);
    return { viewed, bytes, part: kind } as const;
  }

  private shownList(viewed: ViewedFunction, { jobs, total, next }: JobList) {
    return { jobs: jobs.map((job) => this.shownListed(viewed, job)), total, next };
  }

  /** Without payloads and stacks, which would make lists large. */
  shownListed({ i, fn }: ViewedFunction, job: Partial<ListedJob> & { state: ListedState }): object {
    const { input: _input, output: _output, error, ...rest } = job;
    if (!error) return rest;
    const { name, message, code } = this.redaction.error(error, { instance: i, fn });
    return { ...rest, error: { name, message, code } };
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

/** Headers are shown by themselves, redacted. */
function withoutHeaders(json: string | undefined): string | undefined {
  if (json === undefined) return undefined;
  try {
    const options = JSON.parse(json) as Record<string, unknown>;
    return JSON.stringify({ ...options, headers: undefined });
  } catch {
    return undefined;
  }
}
