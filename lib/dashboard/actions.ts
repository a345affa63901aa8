import { Inject, Injectable } from '@nestjs/common';
import { defined } from '../job/defined.js';
import { ConfigurationError } from '../job/errors.js';
import { excerpt } from '../job/secrets.js';
import type { EndedJobs } from '../job/failed-jobs.js';
import { JOB_STATES, type JobState } from '../job/job-state.js';
import type { RunOptions } from '../gearmonkey/core/client/run-options.js';
import type { ActReply, ActRequest, Which } from './api.js';
import { audit, type AuditEvent } from './audit.js';
import { deedEvent, nameIn, toldOf } from './audited.js';
import { BulkRuns, type BulkWork } from './bulk-runs.js';
import { cancelWork, mendWork, type MayCancel } from './bulk-work.js';
import { concernedBy, isUnlimited } from './concerned.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import { Snapshots } from './snapshots.js';
import { dateOf } from './times.js';
import { ACTIONS, DashboardAccess, type ViewedFunction } from './viewed-instance.js';
import { groupOf } from '../gearmonkey/features/views/failure-groups.js';
import type { ListedJob } from '../job/job-views.js';
import type { SourceTables } from '../job/source-tables.js';
import { askSystem } from './system-questions.js';

const CANCELLABLE: readonly JobState[] = ['waiting', 'scheduled', 'retrying', 'running'];

/** What a user wants to do. */
interface Deed extends Pick<ViewedFunction, 'i' | 'fn'> {
  readonly user: DashboardUser;
  readonly request: ActRequest;
}

type Act = Deed & ViewedFunction;

/** The one way by which the dashboard changes anything: rights are checked and everything is audited here. */
@Injectable()
export class DashboardActions {
  constructor(
    @Inject(DashboardAccess) private readonly access: DashboardAccess,
    @Inject(BulkRuns) private readonly bulks: BulkRuns,
    @Inject(Snapshots) private readonly snapshots: Snapshots,
  ) {}

  async act(user: DashboardUser, body: unknown): Promise<ActReply> {
    const request = asRequest(body);
    let deed: Deed = { ...nameIn(request), user, request };
    try {
      deed = { ...deed, ...this.access.named(user, request.i, request.fn) };
      if (!this.access.mayAct(user, request.action, deed.fn, deed.i))
        throw ApiFailure.notAllowed(`${request.action} here`);
      const reply = await this.perform(deed);
      if (!request.dry && reply.bulk === undefined) audit(deedEvent(deed, defaultCount(reply), { reply }));
      return reply;
    } catch (error) {
      if (!request.dry) audit(deedEvent(deed, 0, { error }));
      throw error;
    } finally {
      // Also what has failed may have changed something.
      if (!request.dry) this.snapshots.drop(deed.i);
    }
  }

  /** @throws ApiFailure 403, 404 */
  cancelBulk(user: DashboardUser, id: unknown): void {
    const bulk = this.bulks.need(id);
    const event: AuditEvent = {
      user: user.name,
      action: 'bulk-cancel',
      instance: bulk.i,
      fn: bulk.fn,
      target: bulk.id,
      at: new Date(),
    };
    try {
      if (!this.access.mayAct(user, bulk.action, bulk.fn, bulk.i))
        throw ApiFailure.notAllowed('cancel this run');
      this.bulks.cancel(bulk.id);
      audit(event);
    } catch (error) {
      audit({ ...event, error: toldOf(error) });
      throw error;
    }
  }

  private async perform(deed: Deed): Promise<ActReply> {
    const { request, i, fn } = deed;
    const { client, tables } = this.access.actedOn(i);
    if (!client) return actOnSystem(tables, fn, request);
    const act: Act = { ...deed, client };
    if (request.which) return this.many(act, request.which);
    const functions = await concernedBy(this.access, act);
    const reply: ActReply = request.dry ? { ok: true, count: 1 } : await this.one(act);
    return functions.length > 0 ? { ...reply, functions } : reply;
  }

  private async one(act: Act): Promise<ActReply> {
    const { request } = act;
    switch (request.action) {
      case 'run':
        return run(act);
      case 'retry':
      case 'discard':
        return changed((await act.client[request.action](act.fn, idOf(request)).done) > 0);
      case 'cancel':
        return changed(await act.client.cancelNow(act.fn, idOf(request)));
      case 'edit':
        return edit(act);
      case 'pause':
      case 'resume':
        await act.client[request.action](act.fn);
        return { ok: true };
      case 'limit-set':
      case 'limit-reset':
        return changeLimit(act);
      default:
        return changeSchedule(act);
    }
  }

  /** Whether nothing waits for a job in functions that the user may not change. */
  private async mayCancel(act: Act, id: string): Promise<boolean> {
    if (isUnlimited(act.user)) return true;
    try {
      await concernedBy(this.access, { ...act, request: { action: 'cancel', id } });
      return true;
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 403) return false;
      throw error;
    }
  }

  private async many(act: Act, which: Which): Promise<ActReply> {
    const { i, fn, client, user, request } = act;
    const [state, work] = workOf(act, which, (id) => this.mayCancel(act, id));
    const count = await countOf(act, which, state);
    if (request.dry) return { ok: true, ...count };
    const bulk = this.bulks.start({
      ...{ i, fn, client, action: request.action, user: user.name, of: count.count ?? 0, work },
      begins: (id) => audit({ ...deedEvent(act, undefined), bulk: id, phase: 'begin' }),
      ended: ({ id, done, error }) => {
        this.snapshots.drop(i);
        const failure = error && { error: new ApiFailure(500, error.code, error.message) };
        audit({ ...deedEvent(act, done, failure), bulk: id, phase: 'end' });
      },
    });
    return { ok: true, bulk };
  }
}

function workOf(act: Act, which: Which, mayCancel: MayCancel): [JobState, BulkWork] {
  const { action } = act.request;
  const state = JOB_STATES.find((known) => known === which.state);
  if ((action === 'retry' || action === 'discard') && (state === 'failed' || state === 'cancelled'))
    return [state, mendWork(act, action, endedOf(state, which))];
  const isPart = [which.group, which.tag, which.before].some((one) => one !== undefined);
  if (action === 'cancel' && state && CANCELLABLE.includes(state) && !isPart)
    return [state, cancelWork(act, state, mayCancel)];
  throw ApiFailure.invalid('which', `jobs that ${action} can be done to`);
}

function endedOf(state: 'failed' | 'cancelled', { group, tag, before }: Which): EndedJobs {
  if (group !== undefined && (typeof group !== 'string' || group === ''))
    throw ApiFailure.invalid('which.group', 'a group of failures');
  const time = dateOf('which.before', before);
  return {
    state,
    ...(group !== undefined && { group }),
    ...(tag !== undefined && { tag }),
    ...(time && { before: time }),
  };
}

async function run({ client, fn, request }: Act): Promise<ActReply> {
  const { id } = await client.run(fn, inputOf(request), optionsOf(request));
  return { ok: true, id };
}

async function edit({ client, fn, request }: Act): Promise<ActReply> {
  const input = request.input === undefined ? {} : { input: inputOf(request) };
  await client.update(fn, idOf(request), { ...input, ...optionsOf(request) });
  return { ok: true };
}

async function changeLimit({ client, fn, request }: Act): Promise<ActReply> {
  if (request.action === 'limit-reset') {
    await client.resetLimit(fn);
    return { ok: true };
  }
  const { concurrency, rate } = request.limit ?? {};
  const isRate = rate === undefined || (typeof rate === 'object' && rate !== null);
  if (!request.limit || !isRate || (concurrency === undefined && rate === undefined))
    throw ApiFailure.invalid(
      'limit',
      'the numbers of a limit: `concurrency`, or `rate` with `max` and `per`',
    );
  await client.setLimit(fn, request.limit).catch((error: unknown) => {
    throw error instanceof ConfigurationError ? new ApiFailure(400, error.code, error.message) : error;
  });
  return { ok: true };
}

async function changeSchedule({ client, fn, request }: Act): Promise<ActReply> {
  const { schedule } = request;
  if (typeof schedule !== 'string') throw ApiFailure.invalid('schedule', "a schedule's id");
  // The rights are those of `fn`: a schedule of another function is none of them.
  if ((await client.schedules.get(schedule))?.fn !== fn)
    throw ApiFailure.notFound('such schedule of this function');
  if (request.action === 'schedule-run')
    return { ok: true, id: (await client.schedules.runNow(schedule)).id };
  await client.schedules[request.action === 'schedule-pause' ? 'pause' : 'resume'](schedule);
  return { ok: true };
}

function optionsOf({ options = {} }: ActRequest): Pick<RunOptions, 'priority' | 'delay' | 'scheduled'> {
  const { priority, delay, scheduled } = options;
  const time = dateOf('options.scheduled', scheduled);
  return {
    ...(priority !== undefined && { priority }),
    // Checked by the client.
    ...(delay !== undefined && { delay: delay as NonNullable<RunOptions['delay']> }),
    ...(time && { scheduled: time }),
  };
}

function idOf({ id }: ActRequest): string {
  if (typeof id !== 'string' || !/^\d{1,15}$/.test(id)) throw ApiFailure.invalid('id', 'the id of a job');
  return id;
}

function changed(isChanged: boolean): ActReply {
  return { ok: true, changed: isChanged };
}

function defaultCount({ changed: isChanged = true, count = 1 }: ActReply): number {
  return isChanged ? count : 0;
}

/** The body is from a browser: what is used of it is checked here or by the client. */
function asRequest(body: unknown): ActRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw ApiFailure.invalid('body', 'an object in JSON. The app must parse JSON, as Nest does by default');
  const { i, fn, dry, action, input, id, schedule, kind, ...given } = body as Partial<ActRequest>;
  const { options, which, row, limit } = given;
  if (!action || !ACTIONS.includes(action)) throw ApiFailure.invalid('action', ACTIONS.join(', '));
  if (input !== undefined && typeof input !== 'string') throw ApiFailure.invalid('input', 'JSON as text');
  for (const [name, value] of Object.entries({ id, schedule, kind }))
    if (value !== undefined && typeof value !== 'string') throw ApiFailure.invalid(name, 'text');
  for (const [name, value] of Object.entries({ options, which, row, limit }))
    if (value !== undefined && (typeof value !== 'object' || value === null))
      throw ApiFailure.invalid(name, 'an object');
  return defined({
    ...{ i, fn, dry, action, input, id, schedule, kind, limit },
    options: options && known('options', options, ['priority', 'delay', 'scheduled']),
    which: which && known('which', which, ['state', 'group', 'tag', 'before']),
    row: row && known('row', row, ['view', 'key']),
  }) as ActRequest;
}

/** These parts, each a text or a number: nothing else of it is written to an event. */
function known<T extends object>(name: string, given: T, parts: readonly (string & keyof T)[]): T {
  const found = parts.filter((part) => given[part] !== undefined).map((part) => [part, given[part]] as const);
  for (const [part, value] of found)
    if (typeof value === 'object' && value !== null) throw ApiFailure.invalid(`${name}.${part}`, 'a text');
  return Object.fromEntries(found) as T;
}

/** Jobs with a tag are looked at one by one, at most so many pages. */
const MOST_PAGES = 10;

const A_PAGE = 100;

type Count = Pick<ActReply, 'count' | 'atLeast' | 'atMost' | 'looked'>;

/** How many jobs there are now that an action would be done to; of a group, among those that `failures` looks at. */
async function countOf(viewed: ViewedFunction, which: Which, state: JobState): Promise<Count> {
  const { group, tag, before } = which;
  const { client, fn } = viewed;
  if (tag !== undefined) return countTagged(viewed, tag, (job) => isOf(job, which, state));
  const { total } = await client.list(fn, { state, size: 1 });
  if (group === undefined) return { count: total, ...(before !== undefined && { atMost: true }) };
  const { groups, looked, total: failed } = await client.groupedFailures(fn);
  const count = groups.find((one) => one.group === group)?.count ?? 0;
  return { count, ...(failed > looked && { atLeast: true, looked }) };
}

async function countTagged(
  { client, fn }: ViewedFunction,
  tag: string,
  isChosen: (job: ListedJob) => boolean,
): Promise<Count> {
  if (typeof tag !== 'string') throw ApiFailure.invalid('which.tag', 'text');
  let count = 0;
  let page: string | undefined = '';
  for (let pages = 0; pages < MOST_PAGES && page !== undefined; pages++) {
    const found = await client.find(fn, { tag, size: A_PAGE, page });
    count += found.jobs.filter(isChosen).length;
    page = found.next;
  }
  return { count, ...(page !== undefined && { atLeast: true }) };
}

function isOf(job: ListedJob, { group, before }: Which, state: JobState): boolean {
  if (job.state !== state || (group !== undefined && groupOf(job.error) !== group)) return false;
  const end = dateOf('which.before', before);
  return !end || (job.times.finished !== undefined && job.times.finished < end);
}

const MAX_KEY = 2048;
const MAX_NUMBER = 50;

/** Does what a request asks to qless, JQ or jobd. @throws ApiFailure 400, 404, 502, 503 */
async function actOnSystem(tables: SourceTables, fn: string, request: ActRequest): Promise<ActReply> {
  const { action, row, kind = '' } = request;
  const verb = tables.verbs.find((one) => one === action);
  if (!verb) throw ApiFailure.invalid('action', `one of ${tables.verbs.join(', ')}`);
  if (request.dry) return { ok: true, count: 1 };
  if (row === undefined) return enqueue(tables, { fn, action, kind, input: inputOf(request) });
  const { view, key } = row;
  if (!tables.views.includes(view) || typeof key !== 'string' || key.length > MAX_KEY)
    throw ApiFailure.invalid('row', 'a row of a table');
  const count = await askSystem(() => tables.act({ view, verb, key, fn }));
  return { ok: true, count, changed: count > 0 };
}

async function enqueue(
  { enqueue: can }: SourceTables,
  { action, ...job }: { action: string; fn: string; kind: string; input: unknown },
): Promise<ActReply> {
  if (action !== 'run' || !can) throw ApiFailure.invalid('row', 'the row that it is about');
  if (typeof job.kind !== 'string') throw ApiFailure.invalid('kind', 'text');
  return { ok: true, id: await askSystem(() => can.enqueue(job)) };
}

/** The input of a request; null without one. @throws ApiFailure 400 */
function inputOf({ input }: ActRequest): unknown {
  if (input === undefined) return null;
  let value: unknown;
  try {
    value = JSON.parse(input);
  } catch {
    throw ApiFailure.invalid('input', 'JSON');
  }
  // Saving a part of an input that another program wrote would change the others.
  const changed = changedNumber(input);
  if (changed !== undefined)
    throw ApiFailure.invalid(
      'input',
      `JSON whose numbers are kept: ${excerpt(changed, MAX_NUMBER)} would be another one`,
    );
  return value;
}

/** A number of a JSON text that is another one when it is read. Fractions are approximations anyway. */
function changedNumber(json: string): string | undefined {
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token.startsWith('"')) continue;
    const value = Number(token);
    if (!Number.isFinite(value)) return token;
    if (/^-?\d+$/.test(token) && !Number.isSafeInteger(value) && BigInt(token) !== BigInt(value))
      return token;
  }
  return undefined;
}
