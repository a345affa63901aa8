import { GearMonkeyClient } from '../../../lib/gearmonkey/client.js';
import type { JobOf, NewFlow, NewFlowJob } from '../../../lib/gearmonkey/features/flows/flow-store.js';
import { RedisFlows } from '../../../lib/gearmonkey/features/flows/redis-flows.js';
import { RedisQuestions } from '../../../lib/gearmonkey/core/client/redis-questions.js';
import { FunctionIndex } from '../../../lib/gearmonkey/core/wire/function-index.js';
import { StoreHooks } from '../../../lib/gearmonkey/core/client/store-server.js';
import { RedisStore } from '../../../lib/gearmonkey/redis-store.js';
import { openConnections } from '../../../lib/gearmonkey/redis-connections.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';

const TIMEOUT_MS = 15_000;

/** Called before each call that creates a part of a flow with jobs of these functions. */
export type BetweenParts = (functions: readonly string[]) => Promise<void>;

/** A client that creates flows as any does, but something else happens between any two parts. */
export function steppedClient(url: string, between: BetweenParts) {
  const { commands, hub, close } = openConnections(url);
  const store = new RedisStore(commands, hub, { timeout: TIMEOUT_MS, keysOf });
  let functions: readonly string[] | undefined;

  class SteppedQuestions extends RedisQuestions {
    override async ask(...question: Parameters<RedisQuestions['ask']>): Promise<never> {
      if (functions) await between(functions);
      return (await super.ask(...question)) as never;
    }
  }

  class SteppedFlows extends RedisFlows {
    override async create(jobs: readonly NewFlowJob[], after: readonly JobOf[]): Promise<NewFlow> {
      functions = [...new Set(jobs.map(({ fn }) => fn))];
      try {
        return await super.create(jobs, after);
      } finally {
        functions = undefined;
      }
    }
  }

  const flows = new SteppedFlows({
    ...{
      commands,
      hub,
      keysOf,
      timeout: TIMEOUT_MS,
      hooks: new StoreHooks(),
      index: new FunctionIndex(keysOf),
    },
    questions: new SteppedQuestions(commands, keysOf, TIMEOUT_MS, async (_, refusal) => refusal),
    ...{ prefix: undefined, scheduleIndex: undefined, clock: undefined, onProblem: undefined },
    note: () => undefined,
    now: () => '',
    created: Date.now,
    durable: () => Promise.resolve(),
  });
  const client = new GearMonkeyClient(Object.assign(store, { flows }));
  return {
    client,
    close: () => {
      hub.close();
      commands.close();
      close();
    },
  };
}
