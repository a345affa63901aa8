import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import * as abortErrors from '../../lib/job/abort-errors.js';
import * as plainErrors from '../../lib/job/errors.js';
import * as serverErrors from '../../lib/job/server-errors.js';

const errors = { ...plainErrors, ...abortErrors, ...serverErrors };

describe('GearMonkeyError', () => {
  const cause = new Error('ECONNREFUSED');
  it.each([
    [new errors.InvalidFunctionNameError('x'), 'INVALID_FUNCTION_NAME', 'x'],
    [
      new errors.InvalidOptionError('timeout', 0, 'more'),
      'INVALID_OPTION',
      'Expected `timeout` to be more, got 0.',
    ],
    [new errors.PayloadTooLargeError('fn', 'output', 9, 8), 'PAYLOAD_TOO_LARGE', 'raise `maxPayloadBytes`'],
    [new errors.NotSerializableError('fn', 'input', 'json', cause), 'NOT_SERIALIZABLE', 'Pass plain data'],
    [new errors.UnreadablePayloadError('fn', 'input', 'json', 'why'), 'UNREADABLE_PAYLOAD', 'json: why.'],
    [new errors.ValidationError('fn', 'input', []), 'VALIDATION_FAILED', "doesn't match its schema"],
    [new errors.NoWorkersError('fn'), 'NO_WORKERS', 'without `rollCall`'],
    [
      new errors.JobFailedError('fn', '7', { name: 'E', message: 'no' }),
      'JOB_FAILED',
      'Job 7 of "fn" failed: no',
    ],
    [new errors.WaitTimeoutError('fn', '7', 3), 'WAIT_TIMEOUT', 'read it with get()'],
    [new errors.JobNotFoundError('fn', '7'), 'JOB_NOT_FOUND', 'no longer kept'],
    [
      new errors.MalformedJobError('fn', '7', 'why'),
      'MALFORMED_JOB',
      'Inspect its hash in Redis and delete it',
    ],
    [new errors.EnqueueTimeoutError('fn', 5, cause), 'ENQUEUE_TIMEOUT', 'within 5 ms: ECONNREFUSED.'],
    [new errors.EnqueueTimeoutError('fn', 5), 'ENQUEUE_TIMEOUT', 'within 5 ms. Check'],
    [new errors.ConnectionError('Reading', cause), 'CONNECTION', 'Reading: ECONNREFUSED. Check'],
    [new errors.ConfigurationError('x'), 'CONFIGURATION', 'x'],
    [new errors.LeaseLostError('fn', '7'), 'LEASE_LOST', 'was given to another worker'],
    [
      new errors.AttemptFailedError('fn', '1', new Error('no')),
      'ATTEMPT_FAILED',
      'outside of its handler: no',
    ],
    [new errors.ShutdownError(), 'SHUTDOWN', 'goes back to the front of its queue'],
  ])('%s has a name, a code and a message with the remedy', (error, code, message) => {
    expect(error).toBeInstanceOf(errors.GearMonkeyError);
    expect(error.name).toBe(error.constructor.name);
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });

  it('says what to give instead of a function for one option', () => {
    const error = new errors.InvalidOptionError('concurrency', () => 5, 'a whole number');
    expect(error.message).toMatch(
      /^Expected `concurrency` to be a whole number, got a function\. Give the value/,
    );
  });

  it('tells a server that refuses a login from one that is down', () => {
    const refused = new Error('WRONGPASS invalid username-password pair');
    expect(new errors.ConnectionError('Redis is not reachable', refused).message).toMatch(
      /pair\. Check the user and the password of `connection`\.$/,
    );
    const down = new Error('connect ECONNREFUSED');
    expect(new errors.ConnectionError('Redis is not reachable', down).message).toContain('server is up');
  });

  it('shows no credentials of an invalid URL', () => {
    const error = new errors.InvalidOptionError(
      'master',
      'http://app:s3cret@host?x',
      'a URL without a query',
    );
    expect(`${inspect(error, { showHidden: true })} ${JSON.stringify(error)}`).not.toContain('s3cret');
    expect(error.value).toBe('http://***@host?x');
  });

  it('keeps the message of the cause', () => {
    const kept = new errors.ConnectionError('x', cause).cause as Error;
    expect(kept).toMatchObject({ name: 'Error', message: 'ECONNREFUSED' });
    expect(kept.stack).toBe(cause.stack);
  });

  it('shows no more than the beginning of a long value', () => {
    expect(new errors.InvalidOptionError('o', 'x'.repeat(500), 'short').message).toContain(
      '… (500 characters)',
    );
  });
});
