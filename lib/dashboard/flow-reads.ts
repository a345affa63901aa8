import { Inject, Injectable } from '@nestjs/common';
import type { GearMonkeyClient } from '../gearmonkey/client.js';
import { textOf } from '../gearmonkey/core/wire/stored-job.js';
import { InvalidFunctionNameError } from '../job/errors.js';
import { functionName } from '../job/job-definition.js';
import type { FlowMemberView, FlowView } from './api.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import { fromOf, idOf, JobReads, type Query } from './job-reads.js';
import { DashboardAccess } from './viewed-instance.js';

/** Most jobs of a flow that one request reads. */
const MOST_MEMBERS = 300;

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
    const flow = readField(textOf((await this.jobs.described(viewed, idOf(query))).stored, 'flow'));
    const read = flow && (await readProgress(viewed.client, flow));
    if (!flow || !read) throw ApiFailure.notFound('flow of this job that is kept');
    const { fn: owner, progress } = read;
    const found = await viewed.client.flowMembers(owner, flow.name, from, MOST_MEMBERS);
    const functions = new ShownFunctions((fn) => isName(fn) && this.access.mayView(user, fn, viewed.i));
    const members = found.flatMap((member): FlowMemberView[] => {
      const { id, state, parents } = member;
      const fn = functions.placeOf(member.fn);
      if (fn === undefined) return [];
      const shown = parents.flatMap((parent): [number, string][] => {
        const place = functions.placeOf(parent.fn);
        return place === undefined ? [] : [[place, parent.id]];
      });
      return [{ fn, id, state, parents: shown }];
    });
    const total = wholeOf(progress.total);
    const next = from + MOST_MEMBERS;
    return {
      done: wholeOf(progress.done),
      failed: wholeOf(progress.failed),
      ...{ total, members, functions: functions.names },
      hidden: found.length - members.length,
      ...(next < total && { next }),
    };
  }
}

/** The functions that a view names by their places. Each is asked for once: a page may name it thousands of times. */
class ShownFunctions {
  readonly names: string[] = [];
  private readonly places = new Map<string, number | undefined>();

  constructor(private readonly isShown: (fn: string) => boolean) {}

  /** undefined if it is not shown. */
  placeOf(fn: string): number | undefined {
    if (!this.places.has(fn)) this.places.set(fn, this.isShown(fn) ? this.names.push(fn) - 1 : undefined);
    return this.places.get(fn);
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

/** Another program may have written anything. */
function wholeOf(value: number): number {
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}
