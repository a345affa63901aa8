import { messageOf } from '../../../job/errors.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import { explainOfFlows } from './flow-rights.js';
import { settleFunctions } from './flow-scripts.js';
import type { KeysOf } from '../../core/wire/protocol.js';
import { wireName } from '../../core/wire/wire-names.js';
import type { Problems } from '../../core/source/problems.js';
import type { LeaderDuty } from '../../core/source/source-features.js';
import type { Looked } from '../../core/wire/scripts.js';

/** Does what follows from the ends of jobs that others wait for. If it can't, the leader of their function does it later. */
export class FlowSettler implements LeaderDuty {
  /** Functions that are being settled, and whether they have to be once more. */
  private readonly busy = new Map<string, boolean>();

  constructor(
    private readonly commands: RedisConnection,
    private readonly keysOf: KeysOf,
    private readonly problems: Problems,
  ) {}

  /** Jobs of this function have ended. Never throws. */
  settle(fn: string): void {
    void this.run(fn, false);
  }

  /** If the function has jobs of flows, also looks for those that plain workers have ended. */
  found(fn: string, { flows }: Pick<Looked, 'flows'>): void {
    if (flows) void this.run(fn, true);
  }

  private async failed(fn: string, error: unknown): Promise<void> {
    if (this.commands.isClosed) return;
    const why = await explainOfFlows(this.commands, error, fn, this.keysOf);
    this.problems.report(
      `flows ${fn}`,
      `Jobs that wait for jobs of "${fn}" learn later that these have ended: ${messageOf(why)}`,
    );
  }

  private async run(fn: string, review: boolean): Promise<void> {
    if (this.busy.has(fn)) {
      this.busy.set(fn, true);
      return;
    }
    this.busy.set(fn, false);
    try {
      const name = wireName(this.keysOf, fn);
      const ask = async <T>(question: Parameters<typeof this.commands.insist<T>>[0]) =>
        question(await this.commands.ready());
      do {
        this.busy.set(fn, false);
        await settleFunctions(ask, () => '', [name], { review });
      } while (this.busy.get(fn));
    } catch (error) {
      await this.failed(fn, error);
    } finally {
      this.busy.delete(fn);
    }
  }
}
