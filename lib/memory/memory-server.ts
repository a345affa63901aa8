import { FlowExpiries } from './flow-expiries.js';
import { LimitCounts } from './limit-counts.js';
import { MemoryFlows } from './memory-flows.js';
import { MemoryFunction } from './memory-function.js';
import { MemoryStatistics } from './memory-statistics.js';

export interface MemoryServerOptions {
  /** How often a job may lose its worker before it ends as an error. @default 3 */
  maxStalls?: number;
  /** How long a finished job can be read, in ms. @default 25 hours */
  keptFor?: number;
}

/** The server of `memory:` connections. It lives in this process, and its jobs end with it. */
export class MemoryServer {
  private readonly functions = new Map<string, MemoryFunction>();
  private readonly counted = new Map<string, MemoryStatistics>();
  private readonly sharedLimits = new Map<string, LimitCounts>();
  /** The functions of all schedules, by id. */
  readonly schedules = new Map<string, string>();
  /** The versions of each app that declare schedules. */
  readonly apps = new Map<string, ReadonlySet<string>>();
  readonly flowExpiries = new FlowExpiries(this);
  readonly flows = new MemoryFlows(this, this.flowExpiries);

  constructor(private readonly options: MemoryServerOptions = {}) {}

  function(name: string): MemoryFunction {
    let found = this.functions.get(name);
    if (!found) {
      const { maxStalls = 3, keptFor: age } = this.options;
      found = new MemoryFunction(name, {
        maxStalls,
        keep: age === undefined ? undefined : { success: { age }, error: { age } },
        sharedLimit: (limit) => this.sharedLimit(limit),
        onStalled: (isLast, now) => this.statistics(name).stalled(isLast, now),
        onEnd: (id, succeeded, now) => this.flows.end({ fn: name, id }, succeeded, now),
        onDelete: (id) => this.flows.forget({ fn: name, id }),
        isHeld: (id) => this.flows.isHeld({ fn: name, id }),
      });
      this.functions.set(name, found);
    }
    return found;
  }

  /** What happened to the jobs of a function. */
  statistics(name: string): MemoryStatistics {
    const found = this.counted.get(name) ?? new MemoryStatistics();
    this.counted.set(name, found);
    return found;
  }

  /** Whether a function was used. */
  has(name: string): boolean {
    return this.functions.has(name);
  }

  /** Workers of all functions look when they have to do something next. */
  wake(): void {
    for (const fn of this.functions.values()) fn.wake();
  }

  /** The functions that were used. */
  names(): string[] {
    return [...this.functions.keys()];
  }

  private sharedLimit(name: string): LimitCounts {
    const found = this.sharedLimits.get(name) ?? new LimitCounts();
    this.sharedLimits.set(name, found);
    return found;
  }
}

const named = new Map<string, MemoryServer>();

/** `memory:` makes a server for this caller alone; `memory:NAME` is shared by all callers in this process. */
export function memoryServer(url: string, options?: MemoryServerOptions): MemoryServer {
  const name = url.slice('memory:'.length);
  if (name === '') return new MemoryServer(options);
  const server = named.get(name) ?? new MemoryServer(options);
  named.set(name, server);
  return server;
}
