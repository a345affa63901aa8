import { Inject, Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { checkWhole } from '../job/check-whole.js';
import { defined } from '../job/defined.js';
import { toMilliseconds, type Duration } from '../job/duration.js';
import { InvalidOptionError, messageOf } from '../job/errors.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import type { QueueOverview } from '../job/job-views.js';
import type { GearMonkeyInstance } from '../nest/gearmonkey.instance.js';
import { InstanceRegistry } from '../nest/instance.registry.js';
import { overviewsOf, waitingOf } from '../nest/queue-overviews.js';
import { healthOf, pingSource } from '../nest/source-health.js';

/** What makes jobs degraded. */
export interface HealthLimits {
  /** The instance to check. @default all */
  instance?: string;
  /** The functions whose queues are checked. @default all */
  functions?: readonly string[];
  /** Most jobs of a function that may wait. @default no limit */
  backlog?: number;
  /** How old the oldest waiting job of a function may be. @default no limit */
  latency?: Duration;
  /** How long a lost connection counts as being replaced, before it is down. @default '10s' */
  outage?: Duration;
}

interface CheckedLimits extends Pick<HealthLimits, 'instance' | 'functions' | 'backlog'> {
  readonly latency: number | undefined;
  readonly outage: number;
}

/** What is wrong, and how bad it is. */
interface Trouble {
  readonly isDown: boolean;
  readonly text: string;
}

const LIMITS = optionNames<Required<HealthLimits>>({
  instance: true,
  functions: true,
  backlog: true,
  latency: true,
  outage: true,
});
const OVERVIEW_TIMEOUT_MS = 1000;
const REACH_TIMEOUT_MS = 1000;
const ANY_SPAN = { least: 0 };

/**
 * Health of jobs for @nestjs/terminus. A connection that was not needed yet, as in an app that has only started and will
 * enqueue, is opened to know whether the server answers.
 */
@Injectable()
export class GearMonkeyHealthIndicator {
  private readonly sessions = new HealthIndicatorService();
  /** Instances that a check has found connected. */
  private readonly reached = new WeakSet<GearMonkeyInstance>();
  /** Others, whose servers did not answer when a check opened their connections. */
  private readonly unreached = new WeakSet<GearMonkeyInstance>();
  /** When a check first found an instance without its connection. */
  private readonly lostSince = new WeakMap<GearMonkeyInstance, number>();

  /** @internal */
  constructor(@Inject(InstanceRegistry) private readonly registry: InstanceRegistry) {}

  /**
   * Up; degraded if a limit is exceeded or a connection is being replaced; else down. Terminus 11 has no `degraded`: there
   * it is up with `degraded: true`.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  async check<const Key extends string>(
    key: Key,
    limits: HealthLimits = {},
  ): Promise<HealthIndicatorResult<Key>> {
    const checked = checkLimits(limits);
    const { instance } = checked;
    const instances =
      instance === undefined
        ? this.registry.all()
        : [this.registry.get(instance, 'GearMonkeyHealthIndicator.check')];
    const found = await Promise.all(instances.map((one) => this.troubleOf(one, checked)));
    const troubles = found.flat();
    const session = this.sessions.check(key);
    const data = {
      instances: instances.map(({ name, source }) => ({ name, ...healthOf(source) })),
      ...(troubles.length > 0 && { problems: troubles.map(({ text }) => text) }),
    };
    if (troubles.some(({ isDown }) => isDown)) return session.down(data);
    if (troubles.length === 0) return session.up(data);
    return 'degraded' in session ? session.degraded(data) : upButDegraded(this.sessions, key, data);
  }

  private async troubleOf(instance: GearMonkeyInstance, limits: CheckedLimits): Promise<Trouble[]> {
    const known = healthOf(instance.source);
    const isNew = !known.connected && known.problem === undefined && !this.reached.has(instance);
    const { connected, problem } = known.connected
      ? known
      : await pingSource(instance.source, REACH_TIMEOUT_MS);
    if (!connected && problem !== undefined) {
      if (isNew) this.unreached.add(instance);
      return [this.lost(instance, problem, limits)];
    }
    this.reached.add(instance);
    this.unreached.delete(instance);
    this.lostSince.delete(instance);
    return connected ? queueTroubles(instance, limits) : [];
  }

  private lost(instance: GearMonkeyInstance, problem: string, { outage }: CheckedLimits): Trouble {
    const now = performance.now();
    const since = this.lostSince.get(instance) ?? now;
    this.lostSince.set(instance, since);
    const isDown = this.unreached.has(instance) || now - since >= outage;
    return { isDown, text: `${instance.name} is not connected: ${problem}` };
  }
}

async function queueTroubles(instance: GearMonkeyInstance, limits: CheckedLimits): Promise<Trouble[]> {
  if (limits.backlog === undefined && limits.latency === undefined) return [];
  try {
    const queues = (await overviewsOf(instance, OVERVIEW_TIMEOUT_MS)) ?? [];
    return queues.filter(({ fn }) => limits.functions?.includes(fn) ?? true).flatMap(exceeded(limits));
  } catch (error) {
    return [{ isDown: false, text: `The queues of ${instance.name} can't be read: ${messageOf(error)}` }];
  }
}

function exceeded({ backlog = Infinity, latency = Infinity }: CheckedLimits) {
  return (overview: QueueOverview): Trouble[] => {
    const { fn, oldest } = overview;
    const count = waitingOf(overview);
    const age = oldest === undefined ? 0 : Date.now() - oldest.getTime();
    const texts = [];
    if (count > backlog) texts.push(`${fn} has ${count} waiting jobs, more than ${backlog}`);
    if (age > latency) texts.push(`The oldest job of ${fn} waits for ${age} ms, longer than ${latency}`);
    return texts.map((text) => ({ isDown: false, text }));
  };
}

function upButDegraded<const Key extends string>(
  sessions: HealthIndicatorService,
  key: Key,
  data: Record<string, unknown>,
): HealthIndicatorResult<Key> {
  return sessions.check(key).up({ degraded: true, ...data });
}

/** @throws ConfigurationError, InvalidOptionError */
function checkLimits(given: HealthLimits): CheckedLimits {
  const { latency, outage = '10s', ...limits } = checkOptions('check', given, LIMITS);
  if (limits.backlog !== undefined) checkWhole('backlog', limits.backlog, 0);
  if (limits.functions !== undefined && !Array.isArray(limits.functions))
    throw new InvalidOptionError('functions', limits.functions, 'a list of names');
  return {
    ...defined(limits),
    latency: latency === undefined ? undefined : toMilliseconds('latency', latency, ANY_SPAN),
    outage: toMilliseconds('outage', outage, ANY_SPAN),
  };
}
