import { Inject, Injectable } from '@nestjs/common';
import type { GearMonkeyClient } from '../gearmonkey/client/client.js';
import type { JobSource } from '../job/job-source.js';
import { functionName } from '../job/job-definition.js';
import type { GearMonkeyInstance } from '../nest/gearmonkey.instance.js';
import { InstanceRegistry } from '../nest/instance.registry.js';
import { DEFAULT_INSTANCE } from '../nest/gearmonkey.options.js';
import type { Ability, Action, InstanceView } from './api.js';
import { countedByClient, CountedBySource, type Counted } from './counted.js';
import { ApiFailure } from './dashboard-errors.js';
import { DASHBOARD, type CheckedDashboard, type DashboardUser } from './dashboard.options.js';

export const ACTIONS: readonly Action[] = [
  ...(['run', 'retry', 'cancel', 'discard', 'edit', 'pause', 'resume'] as const),
  ...(['schedule-run', 'schedule-pause', 'schedule-resume', 'limit-set', 'limit-reset'] as const),
];
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

  constructor(
    @Inject(DASHBOARD) private readonly options: CheckedDashboard,
    @Inject(InstanceRegistry) private readonly registry: InstanceRegistry,
  ) {}

  instances(): InstanceView[] {
    return this.registry.all().map((instance) => ({
      name: instance.name,
      system: systemOf(instance),
      can: instance.client ? ABILITIES : instance.source.overview ? ['overview'] : [],
      actions: instance.client && !this.options.readOnly ? ACTIONS : [],
      native: [],
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
    if (!source.overview) throw ApiFailure.notFound('such instance with queues that can be counted');
    let counted = this.sources.get(source);
    if (!counted) {
      counted = new CountedBySource(name, { overview: () => source.overview?.() ?? Promise.resolve([]) });
      this.sources.set(source, counted);
    }
    return counted;
  }

  /** A function's name, if the user may see it. @throws ApiFailure 403 · InvalidFunctionNameError */
  functionFor(user: DashboardUser, i: string, fn: unknown): string {
    if (typeof fn !== 'string') throw ApiFailure.invalid('fn', "a function's name");
    const name = functionName(fn);
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
    return (typeof view === 'function' ? view(fn, i) : view) === true;
  }

  mayAct(user: DashboardUser, action: Action, fn: string, i: string): boolean {
    const { act } = user;
    if (this.options.readOnly || !this.mayView(user, fn, i)) return false;
    return (typeof act === 'function' ? act(action, fn, i) : act) === true;
  }

  actionsOf(user: DashboardUser, fn: string, i: string): Action[] {
    return ACTIONS.filter((action) => this.mayAct(user, action, fn, i));
  }

  mayActAtAll(user: DashboardUser, fn: string, i: string): boolean {
    return ACTIONS.some((action) => this.mayAct(user, action, fn, i));
  }
}

function systemOf({ source }: GearMonkeyInstance): string {
  return source.system ?? 'other';
}
