import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { InvalidOptionError } from '../../lib/job/errors.js';
import type { RunOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import type { AttemptError } from '../../lib/job/job.js';
import { defineJob, type RunLimits } from '../../lib/job/job-definition.js';
import { RetryLaterError, SnoozeError, UnrecoverableError, type RetryOptions } from '../../lib/job/retry.js';
import { codecOf } from '../../lib/job/codec.js';
import type { Claim } from '../../lib/job/job-source.js';
import { ALL_CAPABILITIES } from '../../lib/job/source-capabilities.js';
import { JobExecution } from '../../lib/worker/job-execution.js';
import { bindHandler, checkJobLimits, type JobHandler } from '../../lib/worker/job-handler.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { claimOne } from '../contract/claiming.js';
import { useMemory } from '../embedded/use-memory.js';
import { runWorker } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { claimOf } from './kept-records.js';

const FAST: RetryOptions = { backoff: 'fixed', delay: 1 };
const bad: [string, RunLimits][] = [
  ['retry.attempts', { retry: { attempts: 0 } }],
  ['retry.delay', { retry: { delay: -1 } }],
  ['retry.backoff', { retry: { backoff: 'x' as 'fixed' } }],
  ['retry.jitter', { retry: { jitter: 2 } }],
  ['timeout', { timeout: 0 }],
  ['timeout', { timeout: 'x' }],
];

describe('bindHandler', () => {
  it.each(bad)('refuses a bad `%s`: %p', (option, options) => {
    expect(() => bindHandler(defineJob('fn'), options, () => 1)).toThrow(`Expected \`${option}\``);
  });

  it('overrides options of the definition one by one with those of the handler', () => {
    const definition = defineJob('fn', { timeout: '1s', retry: { attempts: 2 } });
    const limits = (options: RunLimits) => bindHandler(definition, options, () => 1).limits;
    expect(limits({})).toEqual({ concurrency: 1, timeout: 1000, retry: { attempts: 2 } });
    expect(limits({ timeout: 5 })).toEqual({ concurrency: 1, timeout: 5, retry: { attempts: 2 } });
    expect(limits({ retry: { jitter: 0 } })).toMatchObject({ timeout: 1000, retry: { jitter: 0 } });
  });
});

describe('checkJobLimits', () => {
  it('has the largest number of attempts and no timeout unless they are given', () => {
    expect(checkJobLimits({})).toEqual({ attempts: 1000, timeout: Infinity });
    expect(checkJobLimits({ attempts: 3, timeout: '1s' })).toEqual({ attempts: 3, timeout: 1000 });
    expect(() => checkJobLimits({ attempts: 0 })).toThrow('Expected `jobLimits.attempts`');
  });
});

describe('defineJob', () => {
  it.each(bad)('refuses a bad `%s`: %p', (option, options) => {
    expect(() => defineJob('fn', options)).toThrow(`Expected \`${option}\``);
  });
});

describe('the last attempt', () => {
  const isLast = (claim: Partial<Claim>, limits: RunLimits = {}, jobLimits = checkJobLimits({})) => {
    const bound = bindHandler(defineJob('fn'), limits, () => 1);
    const binding = { ...bound, limits: { ...bound.limits, jobLimits } };
    const shared = { codec: codecOf('json'), maxPayloadBytes: 1000 };
    const whole = { ...claimOf(1), ...claim };
    const source = {
      progress: async () => true,
      renew: async () => [],
      capabilities: ALL_CAPABILITIES,
      system: 'x',
      address: 'x',
    };
    return new JobExecution(whole, binding, shared, source, () => undefined).isLastAttempt;
  };

  it.each<[string, Partial<Claim>, boolean]>([
    ['the attempts that failed', { attempts: 3, stalls: 0 }, true],
    ['no claim whose worker died', { attempts: 3, stalls: 1 }, false],
    ['what the job says', { attempts: 1, options: { retry: { attempts: 1 } } }, true],
    ['what its system says', { attempts: 1, isLast: true }, true],
  ])('is told by %s', (_, claim, expected) => {
    expect(isLast(claim, { retry: { attempts: 3 } })).toBe(expected);
  });

  it('comes sooner where the worker limits the attempts of a job', () => {
    const claim = { attempts: 2, options: { retry: { attempts: 5 } } };
    expect([isLast(claim), isLast(claim, {}, checkJobLimits({ attempts: 2 }))]).toEqual([false, true]);
  });
});

describe('JobWorker, when a handler fails', () => {
  const rig = useMemory();

  const failing: JobHandler = (_, { attempts }: RunningJob) => {
    throw new Error(`attempt ${attempts}`);
  };

  /** What a job's attempts said, once it has finished. */
  async function attemptsOf(handle: JobHandler, limits: RunLimits = {}, options: RunOptions = {}) {
    await runWorker(rig.source(), 'fn', handle, limits);
    const job = await rig.client.run('fn', 'x', { ...options, blocking: true, timeout: '10s' });
    const { state, attempts, errors } = await job.get();
    return { state, attempts, said: errors.map(({ message }: AttemptError) => message) };
  }

  it('fails the job at once without retry options', async () => {
    await expect(attemptsOf(failing)).resolves.toEqual({
      state: 'failed',
      attempts: 1,
      said: ['attempt 1'],
    });
  });

  it('makes as many attempts as the options say', async () => {
    await expect(attemptsOf(failing, { retry: { ...FAST, attempts: 3 } })).resolves.toEqual({
      state: 'failed',
      attempts: 3,
      said: ['attempt 1', 'attempt 2', 'attempt 3'],
    });
  });

  it.each<[string, RunLimits, RunOptions, boolean[]]>([
    ['no options', {}, {}, [true]],
    ['options of the handler', { retry: { ...FAST, attempts: 3 } }, {}, [false, false, true]],
    [
      'those of the job',
      { retry: { ...FAST, attempts: 3 } },
      { retry: { attempts: 2, delay: 1 } },
      [false, true],
    ],
  ])('says in each attempt whether it is the last, with %s', async (_, limits, options, expected) => {
    const last: boolean[] = [];
    const handle: JobHandler = (__, { isLastAttempt }: RunningJob) => {
      last.push(isLastAttempt);
      throw new Error('no');
    };
    await attemptsOf(handle, limits, options);
    expect(last).toEqual(expected);
  });

  it('succeeds when a later attempt does', async () => {
    const handle: JobHandler = (input, { attempts }: RunningJob) => {
      if (attempts < 3) throw new Error(`attempt ${attempts}`);
      return input;
    };
    await expect(attemptsOf(handle, { retry: { ...FAST, attempts: 5 } })).resolves.toEqual({
      state: 'succeeded',
      attempts: 3,
      said: ['attempt 1', 'attempt 2'],
    });
  });

  it('prefers options of the job to those of the handler, and these to those of the definition', async () => {
    const job = defineJob('defined', { retry: { ...FAST, attempts: 2 } });
    await runWorker(rig.source(), job, failing);
    const handled = defineJob('handled', { retry: { ...FAST, attempts: 2 } });
    await runWorker(rig.source(), handled, failing, { retry: { ...FAST, attempts: 3 } });
    const own: RunOptions = { retry: { attempts: 4, backoff: 'fixed', delay: 1 } };
    const attempts = async (fn: string, options: RunOptions = {}) =>
      (await (await rig.client.run(fn, 'x', { ...options, blocking: true, timeout: '10s' })).get()).attempts;
    await expect(attempts('defined')).resolves.toBe(2);
    await expect(attempts('handled')).resolves.toBe(3);
    await expect(attempts('handled', own)).resolves.toBe(4);
    await expect(attempts('defined', { retry: { attempts: 1 } })).resolves.toBe(1);
  });

  it('passes attempt and error to a backoff function and waits as long as it returns', async () => {
    const asked: [number, string][] = [];
    const backoff = (attempt: number, error: unknown) => {
      asked.push([attempt, (error as Error).message]);
      return 1;
    };
    await attemptsOf(failing, { retry: { attempts: 3, backoff } });
    expect(asked).toEqual([
      [1, 'attempt 1'],
      [2, 'attempt 2'],
    ]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('bad backoff');
      },
      'bad backoff',
    ],
    ['returns nonsense', () => Number.NaN, 'the result of retry.backoff'],
  ])('fails the job when a backoff function %s', async (_, backoff, message) => {
    const { state, said } = await attemptsOf(failing, { retry: { attempts: 3, backoff } });
    expect([state, said]).toEqual(['failed', [expect.stringContaining(message)]]);
  });

  it('does not try again after an UnrecoverableError', async () => {
    const handle = () => {
      throw new UnrecoverableError('hopeless');
    };
    await expect(attemptsOf(handle, { retry: { ...FAST, attempts: 9 } })).resolves.toEqual({
      state: 'failed',
      attempts: 1,
      said: ['hopeless'],
    });
  });

  it('fails the attempt of a snooze if the source can’t snooze, and says what to throw', async () => {
    const source = rig.source();
    const capabilities = { ...source.capabilities, snooze: false };
    const limited = new Proxy(source, {
      get: (target, name) => {
        if (name === 'capabilities') return capabilities;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await runWorker(limited, 'fn', () => {
      throw new SnoozeError(1);
    });
    const job = await rig.client.run('fn', 'x', { blocking: true, timeout: '10s' });
    await expect(job.get()).resolves.toMatchObject({
      snoozes: 0,
      error: { code: 'CONFIGURATION', message: expect.stringContaining('RetryLaterError') },
    });
  });

  it.each([[-1], ['soon'], [Number.NaN]])('refuses to make a SnoozeError of %p', (delay) => {
    expect(() => new SnoozeError(delay)).toThrow(InvalidOptionError);
  });

  it('tries later after a RetryLaterError, also without retry options', async () => {
    const times: number[] = [];
    const handle = (_: unknown, { attempts }: RunningJob) => {
      times.push(performance.now());
      if (attempts < 3) throw new RetryLaterError(60, 'busy');
    };
    await expect(attemptsOf(handle)).resolves.toEqual({
      state: 'succeeded',
      attempts: 3,
      said: ['busy', 'busy'],
    });
    const [first = 0, second = 0, third = 0] = times;
    expect(Math.min(second - first, third - second)).toBeGreaterThan(55);
  });

  it('limits a RetryLaterError to the attempts of the options', async () => {
    const handle = () => {
      throw new RetryLaterError(1, 'busy');
    };
    await expect(attemptsOf(handle, { retry: { attempts: 2 } })).resolves.toMatchObject({
      state: 'failed',
      attempts: 2,
    });
  });

  it.each([
    ['input', '{"n":"x"}'],
    ['output', '{"n":1}'],
  ])('does not retry a value that a schema refuses as %s', async (_, input) => {
    const job = defineJob('fn', {
      input: z.object({ n: z.number() }),
      output: z.string(),
      retry: { ...FAST, attempts: 5 },
    });
    await runWorker(rig.source(), job, (value) => value as string);
    const id = await rig.submit('fn', input);
    await expect(rig.client.result('fn', id, { timeout: '5s' })).rejects.toMatchObject({
      error: { code: 'VALIDATION_FAILED' },
    });
    await expect(rig.newClient().get('fn', id)).resolves.toMatchObject({ attempts: 1 });
  });

  it.each([
    ['larger than the limit', 'x'.repeat(2000), 'PAYLOAD_TOO_LARGE'],
    ['not serializable', 1n, 'NOT_SERIALIZABLE'],
  ])('does not retry a job whose output is %s', async (_, output, code) => {
    let runs = 0;
    const handle = () => (runs++, output);
    await runWorker(rig.source(), 'fn', handle, { maxPayloadBytes: 1000, retry: { ...FAST, attempts: 5 } });
    const job = await rig.client.run('fn', 'x', { blocking: true, timeout: '10s' });
    await expect(job.get()).resolves.toMatchObject({ attempts: 1, error: { code } });
    expect(runs).toBe(1);
  });

  it('stores no message longer than the limit of an output', async () => {
    const handle = () => {
      throw { name: 'Long', message: 'ä'.repeat(5000) };
    };
    await runWorker(rig.source(), 'fn', handle, { maxPayloadBytes: 1000 });
    const job = await rig.client.run('fn', 'x', { blocking: true, timeout: '10s' });
    const { output = '' } = await rig.stored('fn', job.id);
    expect(output).toContain('ä');
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(1000);
  });

  it('reduces the timeout of a job to the limit of the handler', async () => {
    const jobLimits = { timeout: 30 };
    await runWorker(rig.source(), 'fn', () => new Promise(() => undefined), { jobLimits });
    await expect(rig.client.call('fn', 'x', { jobTimeout: '20 days', timeout: '20s' })).rejects.toMatchObject(
      {
        error: { code: 'JOB_TIMEOUT' },
      },
    );
  });

  it('does not retry an input that the codec cannot read', async () => {
    await runWorker(rig.source(), 'fn', (input) => input, { retry: { ...FAST, attempts: 5 } });
    const id = await rig.submit('fn', Buffer.from([0xff, 0xfe]));
    await eventually(async () => expect((await rig.stored('fn', id)).status).toBe('error'));
    await expect(rig.stored('fn', id)).resolves.toMatchObject({ code: 'UNREADABLE_PAYLOAD' });
  });

  it('does not count attempts whose worker was lost', async () => {
    await rig.client.run('fn', 'x');
    for (let lost = 0; lost < 2; lost++) {
      const dead = rig.source({ lease: 5000 });
      await claimOne(dead, 'fn');
      await dead.close();
      await rig.endLeases('fn');
    }
    await runWorker(rig.source({ lease: 5000 }), 'fn', failing, { retry: { ...FAST, attempts: 2 } });
    await expect(rig.client.result('fn', 1, { timeout: '5s' })).rejects.toThrow('attempt 4');
    await expect(rig.client.get('fn', 1)).resolves.toMatchObject({
      attempts: 4,
      errors: [{ attempt: 3 }, { attempt: 4 }],
    });
  });

  it('frees the slot while a job waits for its next attempt', async () => {
    await runWorker(rig.source(), 'fn', (input) => {
      if (input === 'later') throw new RetryLaterError('1m');
      return input;
    });
    const later = await rig.client.run('fn', 'later');
    await expect(rig.client.call('fn', 'now', { timeout: '5s' })).resolves.toBe('now');
    await expect(later.get()).resolves.toMatchObject({ state: 'retrying', attempts: 1 });
  });
});
