import type { Feature } from '../../core/feature.js';
import { RedisSchedules, type RedisSchedulesOptions } from './redis-schedules.js';
import { asksOfSchedules, tickRights } from './schedule-rights.js';
import type { SchedulesStore } from './schedule-store.js';
import { SchedulesClient } from './schedules-client.js';
import { Ticker } from './ticker.js';

/** After this time the next report of a due tick tries again. */
const TIMEOUT_MS = 5000;

/** Jobs that recur. */
export const schedules: Feature<SchedulesStore> = {
  name: 'schedules',
  client: SchedulesClient,
  rights: tickRights,
  source: ({ connections: { commands }, keysOf, problems }) => {
    const ask: RedisSchedulesOptions['ask'] = (_, __, question) => commands.insist(question, TIMEOUT_MS);
    const report = (fn: string, message: string) => problems.report(`tick ${fn}`, message);
    return { duties: [new Ticker(new RedisSchedules({ keysOf, ask }), report)] };
  },
  store: ({ questions, commands, keysOf, scheduleIndex: index, clock }) =>
    new RedisSchedules({
      keysOf,
      ask: asksOfSchedules(questions, commands, keysOf, index),
      now: clock && (() => clock.now()),
      index,
    }),
};
