import { sql } from 'kysely';
import { jobd } from '../../../lib/jobd/nest/jobd.js';
import type { JobdSource } from '../../../lib/jobd/source/jobd-source.js';
import { parseDatabaseUrl } from '../../../lib/jobd/storage/database-location.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { initDatabase } from '../../../lib/jobd/storage/init-database.js';
import type { JobsTable } from '../../../lib/jobd/storage/schema.js';
import type { SourceRig } from '../../contract/rig.js';
import { SILENT, type SqlServer } from '../../support/job-rows.js';

const STATES: Readonly<Record<string, string>> = { waiting: 'idle', accepted: 'busy', running: 'busy' };

/** A table of jobs with a column for what the contract submits. */
export async function jobdRig(start: () => Promise<SqlServer>): Promise<SourceRig> {
  const server = await start();
  await initDatabase(server.url, 'jobs', SILENT);
  const database = await Database.open(parseDatabaseUrl(server.url), SILENT);
  const bytea = sql.raw(database.dialect === 'postgres' ? 'bytea' : 'blob');
  await database.attempt((queries) => sql`alter table jobs add column payload ${bytea}`.execute(queries));
  const targets = Array.from({ length: 100 }, (_, index) => `target-${index}`);
  const sources = new Set<JobdSource>();
  let names = 0;

  const row = (id: string) =>
    database.attempt((queries) =>
      queries.selectFrom('jobs').selectAll().where('id', '=', Number(id)).executeTakeFirstOrThrow(),
    );

  return {
    fn: () => `target-${++names}`,
    source: () => {
      const source = jobd({ database: server.url, targets, input: 'payload' });
      sources.add(source);
      return source;
    },
    submit: async (target, input, { score } = { queue: 'normal' }) => {
      const values = {
        target,
        time_created: 1,
        time_scheduled: Math.ceil(score ?? 0),
        payload: bytes(input),
      };
      const insert = () =>
        database.attempt((queries) =>
          queries
            .insertInto('jobs')
            .values(values as unknown as JobsTable)
            .$if(database.dialect === 'postgres', (query) => query.returning('id'))
            .executeTakeFirstOrThrow(),
        );
      const { id, insertId } = (await database.insist(insert)) as { id?: number; insertId?: bigint };
      // As a master does when it was poked.
      for (const source of sources) source.poll([target]);
      return String(id ?? insertId);
    },
    stored: async (_, id) => {
      const { status, result, stdout, stderr } = await row(id);
      const state = STATES[status] ?? (result === 'ok' ? 'success' : 'error');
      const [message] = (stderr ?? '').split('\n');
      return {
        status: state,
        ...(status === 'done' && { output: (result === 'ok' ? stdout : message) ?? '' }),
      };
    },
    workers: async () => 0,
    close: async () => {
      await Promise.all([...sources].map((source) => source.close()));
      await database.close();
      await server.stop();
    },
  };
}

function bytes(input: string | Uint8Array): Buffer {
  return typeof input === 'string' ? Buffer.from(input) : Buffer.from(input);
}
