import type { Redis } from 'ioredis';
import { CommandTrace, type Traced } from './command-trace.js';

/** Where a command has its keys, as COMMAND tells it. */
interface KeyPositions {
  readonly first: number;
  /** Below 0, counted from the end. */
  readonly last: number;
  readonly step: number;
}

interface Exempt {
  /** One that only tests have. */
  readonly key?: string;
  /** Calls that are of several functions on one server, and that are made for each slot on a cluster. */
  readonly calls?: readonly string[];
}

/** What decides the slot of a key: its hash tag, or all of it. */
const slotOf = (key: string) => /\{([^}]+)\}/.exec(key)?.[1] ?? key;

/** Checks that all keys of a call, and of what its script calls, have one slot: a cluster would refuse it otherwise. */
export class SlotTrace {
  private constructor(
    private readonly trace: CommandTrace,
    private readonly positions: ReadonlyMap<string, KeyPositions>,
    private readonly exempt: Exempt,
  ) {}

  static async start(redis: Redis, exempt: Exempt = {}): Promise<SlotTrace> {
    const commands = (await redis.call('COMMAND')) as [string, number, string[], number, number, number][];
    const positions = commands.map(
      ([name, , , first, last, step]) => [name.toLowerCase(), { first, last, step }] as const,
    );
    return new SlotTrace(await CommandTrace.start(redis), new Map(positions), exempt);
  }

  /** The calls since it was last asked whose keys have several slots, a line each. */
  async violations(): Promise<string[]> {
    const lines: string[] = [];
    let call = '';
    let keys = new Set<string>();
    const end = () => {
      if (this.exempt.calls?.includes(call)) return;
      if (new Set([...keys].map(slotOf)).size > 1) lines.push(`${call}: ${[...keys].join(' ')}`);
    };
    for (const traced of await this.trace.take()) {
      if (traced.source !== 'lua') {
        end();
        call = traced.name;
        keys = new Set();
      }
      for (const key of this.keysOf(traced)) if (key !== this.exempt.key) keys.add(key);
    }
    end();
    return lines;
  }

  stop(): void {
    this.trace.stop();
  }

  private keysOf(traced: Traced): string[] {
    if (traced.command === 'evalsha' || traced.command === 'eval') {
      const end = 2 + Number(traced.firstArgs(2)[1]);
      return traced.firstArgs(end).slice(2, end);
    }
    const { first = 0, last = 0, step = 1 } = this.positions.get(traced.command) ?? {};
    if (first === 0) return [];
    if (last === first) return traced.firstArgs(first).slice(first - 1, first);
    const { args } = traced;
    const to = last < 0 ? args.length + last : last - 1;
    return args.filter((_, at) => at >= first - 1 && at <= to && (at - first + 1) % step === 0);
  }
}
