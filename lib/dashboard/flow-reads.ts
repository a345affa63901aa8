import { Inject, Injectable } from '@nestjs/common';
import type { GearMonkeyClient } from '../gearmonkey/client/client.js';
import { textOf } from '../gearmonkey/wire/stored-job.js';
import { InvalidFunctionNameError } from '../job/errors.js';
import { functionName } from '../job/job-definition.js';
import type { JobStatus } from '../job/job.js';
import type { FlowMemberView, FlowView } from './api.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import { fromOf, idOf, JobReads, type Query } from './job-reads.js';
import { DashboardAccess } from './viewed-instance.js';

/** Most jobs of a flow that one request reads. */
const MOST_MEMBERS = 300;
/** Most parents of a job that are shown. */
const MOST_PARENTS = 250;
const STATUSES: ReadonlySet<string> = new Set<JobStatus>(['idle', 'busy', 'success', 'error']);

/** Reads the flows that jobs belong to. */
@Injectable()
export class FlowReads {
  constructor(
    @Inject(DashboardAccess) private readonly access: DashboardAccess,
    @Inject(JobReads) private readonly jobs: JobReads,
  ) {}

  /** A part of the flow of a job. @throws JobNotFoundError · ApiFailure 400, 403, 404 */
  async flow(user: DashboardUser, query: Query): Promise<FlowView> {
    const viewed = this.access.viewed(user, query['i'], query['fn']);
    const from = fromOf(query);
    const flow = readField(textOf(await this.jobs.stored(viewed, idOf(query)), 'flow'));
    const read = flow && (await readProgress(viewed.client, flow));
    if (!flow || !read) throw ApiFailure.notFound('flow of this job that is kept');
    const { fn: owner, progress } = read;
    const found = await viewed.client.flowMembers(owner, flow.name, from, MOST_MEMBERS);
    const isShown = this.shownTo(user, viewed.i);
    const members = found.filter(({ fn }) => isShown(fn));
    const total = numberOf(progress.total);
    const next = from + MOST_MEMBERS;
    return {
      done: numberOf(progress.done),
      failed: numberOf(progress.failed),
      total,
      members: members.map(({ fn, id, status, waits, parents }): FlowMemberView => {
        const shown = parents.slice(0, MOST_PARENTS).filter((parent) => isShown(parent.fn));
        // Another program may have written anything.
        const known = STATUSES.has(status) ? status : 'idle';
        return { fn, id, status: known, waits, parents: shown.map((one) => ({ fn: one.fn, id: one.id })) };
      }),
      hidden: found.length - members.length,
      ...(next < total && { next }),
    };
  }

  /** Whether the user may see a function. Each is asked for once: a page may name it thousands of times. */
  private shownTo(user: DashboardUser, i: string): (fn: string) => boolean {
    const known = new Map<string, boolean>();
    return (fn) => {
      const shown = known.get(fn) ?? (isName(fn) && this.access.mayView(user, fn, i));
      known.set(fn, shown);
      return shown;
    };
  }
}

/** The name of a flow and the function that it belongs to, as that is called on the wire. */
interface FlowField {
  readonly name: string;
  readonly fn: string;
}

/** How far a flow is, and what the client calls its function: with `hashTag` it writes the braces around a name itself. */
async function readProgress(client: GearMonkeyClient, { name, fn: wire }: FlowField) {
  for (const fn of [wire, /^\{([^{}]+)\}$/.exec(wire)?.[1]]) {
    if (fn === undefined) continue;
    try {
      const progress = await client.flowProgress(fn, name);
      if (progress) return { fn, progress };
    } catch (error) {
      if (!(error instanceof InvalidFunctionNameError)) throw error;
    }
  }
  return undefined;
}

/** The field `flow` of a job, `NAME:FN`. */
function readField(field: string | undefined): FlowField | undefined {
  const [, name, fn] = /^([\w-]{1,64}):(.+)$/s.exec(field ?? '') ?? [];
  return name !== undefined && fn !== undefined && isName(fn) ? { name, fn } : undefined;
}

function isName(fn: string): boolean {
  try {
    return functionName(fn) === fn;
  } catch {
    return false;
  }
}

function numberOf(value: number): number {
  return Number.isFinite(value) ? value : 0;
}
