import { describe, expect, it } from '@jest/globals';
import { DatabaseError } from '../../../lib/jobd/storage/errors.js';

describe('the error of a database that does not answer', () => {
  it('says once what to do, whatever it was raised for', () => {
    const late = new DatabaseError('The database did not answer in time', new Error('It is locked.'));
    const { message } = new DatabaseError('The row was not added', late);
    expect(message).toBe(
      'The row was not added: The database did not answer in time: It is locked. ' +
        'Check that the database is up, reachable, and lets us in.',
    );
  });
});
