import { Injectable } from '@nestjs/common';
import { defined } from '../job/defined.js';
import { ConfigurationError, InvalidOptionError } from '../job/errors.js';
import type { FunctionRef } from '../job/job-definition.js';
import type { Declaration } from '../gearmonkey/features/schedules/declared-schedules.js';
import type { ScheduleOptions } from '../gearmonkey/features/schedules/recur-options.js';
import { appOfPackage } from './app-version.js';
import { ConfiguredOptions } from './configured-options.js';
import { clientOf, type GearMonkeyInstance } from './gearmonkey.instance.js';
import { checkEnabled } from './handler-binder.js';
import { InstanceRegistry } from './instance.registry.js';
import type { InstanceWorkers } from './instance-workers.js';
import { nestLog } from './nest-log.js';
import { KNOWN_RECURRING } from './recurring.decorator.js';
import { moduleRefOf } from './scoped-instance.js';
import { WorkerExplorer, type RecurringBinding } from './worker.explorer.js';

/** The schedules in the code of an instance. */
interface Found {
  readonly instance: GearMonkeyInstance;
  readonly declared: Declaration[];
  readonly left: string[];
  readonly disabled: string[];
  /** Whether all ids in the code are known: otherwise none is taken for removed. */
  isComplete: boolean;
}

/** Writes the schedules of `@Recurring` methods when the app starts. */
@Injectable()
export class RecurringOrchestrator {
  private readonly log = nestLog('GearMonkey');

  constructor(
    private readonly registry: InstanceRegistry,
    private readonly explorer: WorkerExplorer,
    private readonly options: ConfiguredOptions,
  ) {}

  /** Finds and checks the schedules, without writing any. @throws ConfigurationError, InvalidOptionError */
  async prepare(workersOf: (instance: string, user: string) => InstanceWorkers): Promise<readonly Found[]> {
    const found = new Map<GearMonkeyInstance, Found>();
    for (const instance of this.registry.all())
      if (instance.client && instance.options.app) found.set(instance, emptyOf(instance));
    for (const binding of this.explorer.recurring()) {
      const user = `@Recurring on ${binding.label}`;
      const workers = workersOf(binding.instance, user);
      const { instance } = workers;
      const all = found.get(instance) ?? emptyOf(instance);
      found.set(instance, all);
      await this.add(all, binding, user, workers);
    }
    for (const all of found.values()) refuseTwice(all);
    return [...found.values()];
  }

  async declare(all: readonly Found[]): Promise<void> {
    for (const { instance, ...found } of all) {
      const isIdle = found.declared.length === 0 && found.disabled.length === 0;
      if (isIdle && !instance.options.app) continue;
      const { takeOver = false, ...own } = instance.options.app ?? { takeOver: false };
      const app = 'name' in own ? own : appOfPackage();
      const kept = await instance.client?.schedules.declare({ ...found, app, takesOver: takeOver });
      if (kept !== undefined && app)
        this.log.log(
          `The schedules of "${instance.name}" stay as version ${kept} of ${app.name} declares them: this is ${app.version}`,
        );
    }
  }

  private async add(
    found: Found,
    { annotation, label, wrapper, ref }: RecurringBinding,
    user: string,
    workers: InstanceWorkers,
  ): Promise<void> {
    const { instance, declared, left, disabled } = found;
    const client = clientOf(instance, user);
    const fn = nameOf(ref);
    if (!workers.runs(fn)) {
      // Its options are not made here.
      found.isComplete &&= annotation.options !== undefined;
      return void left.push(annotation.options?.id ?? label);
    }
    const made = await this.options.of(annotation, user, KNOWN_RECURRING, moduleRefOf(wrapper));
    const { id = label, enabled = true, ...times } = made;
    checkEnabled(enabled, user);
    if (!enabled) return void disabled.push(id);
    const options = defined({ id, cron: annotation.cron, ...times }) as ScheduleOptions;
    try {
      await client.schedules.check(ref, options);
    } catch (error) {
      if (!(error instanceof InvalidOptionError)) throw error;
      throw new InvalidOptionError(`${error.option} of ${user}`, error.value, error.expected);
    }
    declared.push({ ref, options });
  }
}

function emptyOf(instance: GearMonkeyInstance): Found {
  return { instance, declared: [], left: [], disabled: [], isComplete: true };
}

function nameOf(ref: FunctionRef): string {
  return typeof ref === 'string' ? ref : ref.name;
}

function refuseTwice({ declared }: Found): void {
  const ids = declared.map(({ options }) => options.id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice === undefined) return;
  throw new ConfigurationError(
    `Two @Recurring methods have the id "${twice}". Give one of them another \`id\`.`,
  );
}
