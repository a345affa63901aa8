import { Inject, Injectable, Logger } from '@nestjs/common';
import type { GearMonkeyClient } from '../gearmonkey/client.js';
import { messageOf } from '../job/errors.js';
import { realNow } from '../job/real-time.js';
import { ignore, isThenable } from './thenable.js';
import type { JobSource } from '../job/job-source.js';
import type { SourceTables } from '../job/source-tables.js';
import { functionName } from '../job/job-definition.js';
import type { GearMonkeyInstance } from '../nest/gearmonkey.instance.js';
import { InstanceRegistry } from '../nest/instance.registry.js';
import { DEFAULT_INSTANCE } from '../nest/gearmonkey.options.js';
import type { Ability, Action, InstanceView } from './api.js';
import { countedByClient, CountedBySource, type Counted } from './counted.js';
import { ApiFailure } from './dashboard-errors.js';
import { DASHBOARD, type CheckedDashboard, type DashboardUser } from './dashboard.options.js';

const log = new Logger('Dashboard');

export const ACTIONS: readonly Action[] = [
  ...(['run', 'retry', 'cancel', 'discard', 'edit', 'pause', 'resume'] as const),
  ...(['schedule-run', 'schedule-pause', 'schedule-resume', 'limit-set', 'limit-reset'] as const),
];
/** How often the log says of each function of a user that it has failed. */
const REPEAT_MS = 30_000;
/** Longest name of a queue or target of another system, in characters. */
const MAX_NAME = 1024;
const ABILITIES: readonly Ability[] = [
  ...(['overview', 'statistics', 'jobs', 'find', 'job'] as const),
  ...(['failures', 'limits', 'schedules', 'workers'] as const),
];

/** An instance that a user looks at. */
export interface Viewed {
  readonly i: string;
  readonly client: GearMonkeyClient;
}

/** A function that a user looks at. */
export interface ViewedFunction extends Viewed {
  readonly fn: string;
}

/** Finds instances and decides who may see and do what: the only place that asks the user's rights. */
@Injectable()
export class DashboardAccess {
  private readonly sources = new WeakMap<JobSource, CountedBySource>();
  private readonly toldAt = new Map<string, number>();

  constructor(
    @Inject(DASHBOARD) private readonly options: CheckedDashboard,
    @Inject(InstanceRegistry) private readonly registry: InstanceRegistry,
  ) {}

  instances(): InstanceView[] {
    return this.registry.all().map((instance) => ({
      name: instance.name,
      system: systemOf(instance),
      can: instance.client ? ABILITIES : abilitiesOf(instance),
      actions: this.options.readOnly ? [] : actionsAt(instance),
      ...nativeOf(instance),
    }));
  }

  /** @throws ApiFailure 404 */
  instance(i: unknown): Viewed {
    const found = this.found(i);
    if (!found?.client) throw ApiFailure.notFound('such instance with jobs that can be listed');
    return { i: found.name, client: found.client };
  }

  /** One whose queues are counted, of any system. @throws ApiFailure 404 */
  counted(i: unknown): Counted {
    const { name, client, source } = this.found(i) ?? {};
    if (name === undefined || !source) throw ApiFailure.notFound('such instance');
    if (client) return countedByClient(name, client);
    if (!source.monitor?.overview) throw ApiFailure.notFound('such instance with queues that can be counted');
    let counted = this.sources.get(source);
    if (!counted) {
      counted = new CountedBySource(name, async () => (await source.monitor?.overview?.()) ?? []);
      this.sources.set(source, counted);
    }
    return counted;
  }

  /** One with tables of its own. @throws ApiFailure 404 */
  tables(i: unknown): { readonly name: string; readonly tables: SourceTables } {
    const { name, source, client } = this.found(i) ?? {};
    const tables = source?.monitor?.tables;
    if (name === undefined || client || !tables)
      throw ApiFailure.notFound('such instance with tables of its own');
    return { name, tables };
  }

  /** How an instance is changed: by its client, or by its tables. @throws ApiFailure 404 */
  actedOn(
    i: string,
  ): { client: GearMonkeyClient; tables?: never } | { client?: never; tables: SourceTables } {
    const client = this.found(i)?.client;
    return client ? { client } : { tables: this.tables(i).tables };
  }

  /** The instance and the function that a request names. @throws ApiFailure 403, 404 · InvalidFunctionNameError */
  named(user: DashboardUser, i: unknown, fn: unknown): { readonly i: string; readonly fn: string } {
    const name = this.found(i)?.name;
    if (name === undefined) throw ApiFailure.notFound('such instance');
    return { i: name, fn: this.functionFor(user, name, fn) };
  }

  /** A function's name, if the user may see it. @throws ApiFailure 403 · InvalidFunctionNameError */
  functionFor(user: DashboardUser, i: string, fn: unknown): string {
    if (typeof fn !== 'string' || fn === '' || fn.length > MAX_NAME)
      throw ApiFailure.invalid('fn', "a function's name");
    // Other systems have names of their own, such as queues with blanks.
    const name = this.found(i)?.client ? functionName(fn) : fn;
    if (!this.mayView(user, name, i)) throw ApiFailure.notAllowed('see this function');
    return name;
  }

  private found(i: unknown): GearMonkeyInstance | undefined {
    const name = i === undefined || i === '' ? DEFAULT_INSTANCE : i;
    return this.registry.all().find((instance) => instance.name === name);
  }

  /** @throws ApiFailure 403, 404 · InvalidFunctionNameError */
  viewed(user: DashboardUser, i: unknown, fn: unknown): ViewedFunction {
    const instance = this.instance(i);
    return { ...instance, fn: this.functionFor(user, instance.i, fn) };
  }

  mayView({ view }: DashboardUser, fn: string, i: string): boolean {
    return (typeof view === 'function' ? this.granted('view', () => view(fn, i)) : view) === true;
  }

  /** A function of the app that throws, or has no answer yet, grants nothing. It is told now and then: pages ask all the time. */
  private granted(name: string, ask: () => unknown): boolean {
    try {
      const answer = ask();
      if (!isThenable(answer)) return answer === true;
      ignore(answer);
      this.tell(name, 'has returned a promise', 'ask in `auth`');
    } catch (error) {
      this.tell(name, 'has thrown', messageOf(error));
    }
    return false;
  }

  private tell(name: string, what: string, more: string): void {
    const now = realNow();
    if (now - (this.toldAt.get(name) ?? -Infinity) < REPEAT_MS) return;
    this.toldAt.set(name, now);
    log.error(`\`${name}\` of a dashboard's user ${what}, so the user may not: ${more}`);
  }

  mayAct(user: DashboardUser, action: Action, fn: string, i: string): boolean {
    const { act } = user;
    if (this.options.readOnly || !this.mayView(user, fn, i)) return false;
    return (typeof act === 'function' ? this.granted('act', () => act(action, fn, i)) : act) === true;
  }

  actionsOf(user: DashboardUser, fn: string, i: string): Action[] {
    return ACTIONS.filter((action) => this.mayAct(user, action, fn, i));
  }

  mayActAtAll(user: DashboardUser, fn: string, i: string): boolean {
    const instance = this.found(i);
    return (instance ? actionsAt(instance) : []).some((action) => this.mayAct(user, action, fn, i));
  }
}

/** What can be done there at all. */
function actionsAt({ client, source }: GearMonkeyInstance): readonly Action[] {
  return client ? ACTIONS : (source.monitor?.tables?.verbs ?? []);
}

function nativeOf({ client, source }: GearMonkeyInstance): Pick<InstanceView, 'native' | 'run'> {
  const tables = source.monitor?.tables;
  if (client || !tables) return { native: [] };
  const { views, enqueue } = tables;
  const { fn = '', input = '', kind } = enqueue ?? {};
  return { native: views, ...(enqueue && { run: { fn, input, ...(kind !== undefined && { kind }) } }) };
}

function abilitiesOf({ source: { monitor } }: GearMonkeyInstance): Ability[] {
  const { overview, tables } = monitor ?? {};
  return [...(overview ? (['overview'] as const) : []), ...(tables ? (['native'] as const) : [])];
}

function systemOf({ source }: GearMonkeyInstance): string {
  return source.system ?? 'other';
}
