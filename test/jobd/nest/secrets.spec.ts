import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { SILENT } from '../../../lib/jobd/vocabulary/logging.js';
import { jobd, JobdDaemon, JobdInstance, JobdMaster, JobdWorker } from '../../../lib/jobd/index.js';
import { DatabaseError, DatabaseSetupError } from '../../../lib/jobd/storage/errors.js';
import { SECRET } from '../../support/hostile-values.js';

const database = `mysql://me:${SECRET}@127.0.0.1:9/db`;
const auth = { password: SECRET };
const master = { host: '127.0.0.1', port: 9, password: SECRET };

/** What users may have in their hands. */
const THINGS: readonly (readonly [string, () => unknown])[] = [
  ['JobdDaemon', () => new JobdDaemon({ database, launcher: 'a', targets: new Map() })],
  ['JobdMaster', () => new JobdMaster({ host: 'h', port: 1, auth, log: SILENT })],
  [
    'JobdWorker',
    () => {
      const daemon = new JobdDaemon({ database, launcher: 'a', targets: new Map() });
      return new JobdWorker(daemon, { host: 'h', port: 1, auth, name: 'n', master, log: SILENT });
    },
  ],
  ['JobdSource', () => jobd({ database, targets: ['a'], master, log: SILENT })],
  [
    'JobdInstance',
    () => new JobdInstance({ database, server: { kind: 'master', port: 9, password: SECRET } }, SILENT),
  ],
  ['JobdClient', () => new JobdInstance({ database }, SILENT).client],
];

describe.each(THINGS)('%s', (name, make) => {
  it('shows no password to logs, JSON and inspect', () => {
    const thing = make();
    const shown = [JSON.stringify({ thing }), inspect({ thing }, { depth: Infinity, showHidden: true })];
    expect(shown.join()).toContain(name);
    expect(shown.join()).not.toContain(SECRET);
  });
});

describe("a database's error", () => {
  it.each([
    (cause: Error) => new DatabaseError('It failed', cause),
    (cause: Error) => new DatabaseSetupError('It failed.', { cause }),
  ])('keeps nothing of the statement in its cause', (make) => {
    const cause = Object.assign(new Error('Data too long'), { code: 'E', sql: `insert '${SECRET}'` });
    const error = make(cause);
    expect(error.cause).toMatchObject({ message: 'Data too long', code: 'E' });
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain(SECRET);
  });
});
