import type { Redis } from 'ioredis';
import { CommandTrace, type Traced } from '../support/command-trace.js';

/** What each user of a server asked, with what the scripts that it called did. */
export class AttributedTrace {
  private readonly users = new Map<string, string>();

  private constructor(
    private readonly redis: Redis,
    private readonly trace: CommandTrace,
  ) {}

  static async start(redis: Redis): Promise<AttributedTrace> {
    return new AttributedTrace(redis, await CommandTrace.start(redis));
  }

  /** Notes whose connections there are: to be called before any of them ends. */
  async look(): Promise<void> {
    const list = String(await this.redis.client('LIST'));
    for (const [, address = '', user = ''] of list.matchAll(/ addr=(\S+) .* user=(\S+)/g))
      this.users.set(address, user);
  }

  /** Different calls by user. What a script calls is its caller's. */
  async calls(): Promise<Map<string, Traced[]>> {
    await this.look();
    const byUser = new Map<string, Map<string, Traced>>();
    let caller = '';
    for (const traced of await this.trace.take()) {
      if (traced.source !== 'lua') caller = this.users.get(traced.source) ?? traced.source;
      const calls = byUser.get(caller) ?? new Map<string, Traced>();
      byUser.set(caller, calls.set(JSON.stringify([traced.command, traced.args]), traced));
    }
    return new Map([...byUser].map(([user, calls]) => [user, [...calls.values()]]));
  }

  stop(): void {
    this.trace.stop();
  }
}
