/** @isolated The lines of an app would name the decorated classes of suites before it. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { GearMonkeyModule, Worker } from 'nestjs-gearmonkey';
import { JobdClient, JobdModule, jobd } from 'nestjs-gearmonkey/jobd';
import { EmbeddedJqMaster, JqClient, JqMasterModule, JqModule, jq } from 'nestjs-gearmonkey/jq';
import { QlessClient, QlessModule, qless } from 'nestjs-gearmonkey/qless';
import { sqliteFile } from '../support/job-rows.js';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useJobTables } from '../support/use-job-tables.js';
import { useRedis } from '../support/use-redis.js';

@Injectable()
class Handlers {
  @Worker('mail', { retry: { attempts: 2, backoff: 'fixed', delay: 1, jitter: 0 } })
  mail() {
    throw new RangeError('boom\nforged');
  }
}

describe("A handler's failure on another system", () => {
  const redis = useRedis();
  const apps = useApps();
  const tables = useJobTables(sqliteFile);
  const said: { level: string; line: string; fields: object }[] = [];

  beforeEach(() => {
    said.length = 0;
    for (const level of ['warn', 'error'] as const) {
      jest.spyOn(Logger.prototype, level).mockImplementation((entry) => {
        said.push({ level, line: String(entry), fields: { ...(entry as object) } });
      });
    }
  });
  afterEach(() => void jest.restoreAllMocks());

  const error = { name: 'RangeError', message: 'boom\\nforged' };
  const lines = (id: unknown) => [
    {
      level: 'warn',
      line: `mail ${id} failed (attempt 1 of 2, next in 1 ms): RangeError: boom\\nforged`,
      fields: { fn: 'mail', id: String(id), attempt: 1, attempts: 2, error, next: 'retry', delay: 1 },
    },
    {
      level: 'error',
      line: `mail ${id} failed for good (attempt 2 of 2): RangeError: boom\\nforged`,
      fields: { fn: 'mail', id: String(id), attempt: 2, attempts: 2, error, next: 'fail' },
    },
  ];

  it('has the same lines and fields: qless', async () => {
    const source = qless({ connection: redis.url, queues: ['q'] });
    const imports = [GearMonkeyModule.forRoot({ source }), QlessModule.forRoot({ connection: redis.url })];
    const app = await apps.start({ imports, providers: [Handlers] });
    const jid = await app.get(QlessClient).queue('q').put('mail', {});
    await eventually(() => expect(said).toEqual(lines(jid)));
  });

  it('has the same lines and fields: jobd', async () => {
    const rows = await tables.table();
    const where = { database: rows.url, table: rows.table };
    const source = jobd({ ...where, targets: ['mail'] });
    const imports = [GearMonkeyModule.forRoot({ source }), JobdModule.forRoot(where)];
    const app = await apps.start({ imports, providers: [Handlers] });
    const id = await app.get(JobdClient).add('mail');
    await app.get(JobdClient).poke('mail');
    await eventually(() => expect(said).toEqual(lines(id)));
  });

  it('leaves what is next to the master: JQ', async () => {
    const outer = await apps.start({ imports: [JqMasterModule.forRoot({ connection: redis.url, port: 0 })] });
    const master = outer.get(EmbeddedJqMaster).url ?? '';
    const imports = [GearMonkeyModule.forRoot({ source: jq({ master }) }), JqModule.forRoot({ master })];
    const app = await apps.start({ imports, providers: [Handlers] });
    const { id } = await app.get(JqClient).enqueue('mail', {});
    await eventually(() =>
      expect(said).toEqual([
        {
          level: 'warn',
          line: `mail ${id} failed (attempt 1): RangeError: boom\\nforged`,
          fields: { fn: 'mail', id, attempt: 1, error, next: 'server' },
        },
      ]),
    );
  });
});
