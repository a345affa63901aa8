import { afterAll, describe, expect, it } from '@jest/globals';
import { HoldKeyError, RetryLaterError, SnoozeError, defineLimit } from 'nestjs-gearmonkey';
import { JobdClient, JobdInstance } from 'nestjs-gearmonkey/jobd';
import { JqClient } from 'nestjs-gearmonkey/jq';
import { QlessClient, qless } from 'nestjs-gearmonkey/qless';
import { ClientTable } from '../lib/jobd/nest/client-table.js';
import { NO_ROUTE } from '../lib/jobd/nest/request-routes.js';
import { SILENT } from '../lib/jobd/vocabulary/logging.js';
import { noDurations } from './support/no-durations.js';

/** Where nothing listens. */
const connection = 'redis://127.0.0.1:1';
const database = 'sqlite:/nowhere/jobs.db';
const stored = new QlessClient({ connection });
const pushed = new JqClient({ master: 'http://127.0.0.1:1' });
const rows = new JobdClient(new ClientTable(database, 'jobs', SILENT), NO_ROUTE, 'key');
const instance = new JobdInstance({ database }, SILENT);

afterAll(async () => {
  stored.close();
  await pushed.close();
});

/** Takers of durations that no table beside their other tests has. */
const TAKERS: readonly (readonly [string, string, (value: never) => unknown])[] = [
  ['QlessClient', 'timeout', (timeout) => new QlessClient({ connection, timeout })],
  ['qless()', 'lock', (lock) => qless({ connection, queues: ['q'], lock })],
  ['JqClient', 'timeout', (timeout) => new JqClient({ master: 'http://127.0.0.1:1', timeout })],
  ['QlessClient.ping', 'timeout', (timeout) => stored.ping(timeout)],
  ['JqClient.ping', 'timeout', (timeout) => pushed.ping(timeout)],
  ['JobdClient.ping', 'timeout', (timeout) => rows.ping(timeout)],
  ['JobdInstance.stopWork', 'timeout', (timeout) => instance.stopWork(timeout)],
  ['RetryLaterError', 'delay', (delay) => new RetryLaterError(delay)],
  ['SnoozeError', 'delay', (delay) => new SnoozeError(delay)],
  ['HoldKeyError', 'span', (span) => new HoldKeyError(span)],
  ['defineLimit', 'rate.per', (per) => defineLimit('fn', { rate: { max: 1, per } })],
];

describe('a value that is no duration', () => {
  it.each(TAKERS)('is refused by %s, which names `%s`', async (_, option, take) => {
    for (const [, value] of noDurations())
      await expect((async () => take(value as never))()).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        option,
        message: expect.stringContaining(`Expected \`${option}\` to be `),
      });
  });
});
