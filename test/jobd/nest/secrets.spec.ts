import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { DatabaseError, DatabaseSetupError } from '../../../lib/jobd/storage/errors.js';
import { SECRET } from '../../support/hostile-values.js';

describe("a database's error", () => {
  it.each([
    (cause: Error) => new DatabaseError('It failed', cause),
    (cause: Error) => new DatabaseSetupError('It failed.', { cause }),
  ])('has no part of the statement in its cause', (make) => {
    const cause = Object.assign(new Error('Data too long'), { code: 'E', sql: `insert '${SECRET}'` });
    const error = make(cause);
    expect(error.cause).toMatchObject({ message: 'Data too long', code: 'E' });
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain(SECRET);
  });
});
