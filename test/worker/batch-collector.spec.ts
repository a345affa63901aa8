import { beforeEach, describe, expect, it } from '@jest/globals';
import { JobCancelledError, LeaseLostError } from '../../lib/job/abort-errors.js';
import { HoldKeyError } from '../../lib/job/limit-errors.js';
import { BatchStoppedError, fail, ok } from '../../lib/worker/batch.js';
import { BatchCollector } from '../../lib/worker/batch-collector.js';
import { RunningJob } from '../../lib/worker/running-job.js';
import { gate, type Gate } from '../support/gate.js';
import { eventually, until } from '../support/until.js';
import { turnOfEventLoop } from '../../lib/testing/real-time.js';
import { claimOf } from './kept-records.js';

const WAIT_MS = 20;
const RUN = { isLastAttempt: false, onAbort: () => undefined };

describe('BatchCollector', () => {
  /** The inputs of the batches that have begun, and what ends each. */
  let batches: { inputs: unknown[]; end: Gate }[];
  let collector: BatchCollector;

  beforeEach(() => void (batches = []));

  /** Batches end when a test says so, and return their inputs. */
  function open({ size = 2, wait = 0 } = {}): void {
    collector = new BatchCollector('fn', { size, wait }, async (inputs) => {
      const end = gate();
      batches.push({ inputs, end });
      await end.passed;
      return inputs.map((input) => (input === 'bad' ? fail(new Error('bad')) : ok(input)));
    });
  }

  function add(input: unknown): { job: RunningJob; output: Promise<unknown> } {
    const source = { progress: async () => true };
    const job = new RunningJob(source, claimOf(1), input, RUN);
    const output = collector.add(input, job);
    output.catch(() => undefined);
    return { job, output };
  }

  const inputs = () => batches.map((batch) => batch.inputs);

  it('runs no more jobs together than its size, and no more batches than it is allowed to', async () => {
    open();
    const outputs = [1, 2, 3, 4, 5].map((input) => add(input).output);
    await eventually(() => expect(batches.length).toBeGreaterThan(0));
    expect(inputs()).toEqual([[1, 2]]);
    collector.allow(2);
    await eventually(() =>
      expect(inputs()).toEqual([
        [1, 2],
        [3, 4],
      ]),
    );
    for (const { end } of batches) end.open();
    await eventually(() => expect(inputs()).toEqual([[1, 2], [3, 4], [5]]));
    batches[2]?.end.open();
    await expect(Promise.all(outputs)).resolves.toEqual([1, 2, 3, 4, 5]);
  });

  it('gives each job its own outcome', async () => {
    open({ size: 3 });
    const [one, bad, other] = ['one', 'bad', 'other'].map((input) => add(input).output);
    await eventually(() => expect(batches).toHaveLength(1));
    batches[0]?.end.open();
    await expect(Promise.allSettled([one, bad, other])).resolves.toMatchObject([
      { value: 'one' },
      { reason: { message: 'bad' } },
      { value: 'other' },
    ]);
  });

  it('refuses a job whose run has ended before it comes', async () => {
    open({ size: 1 });
    const job = new RunningJob({ progress: async () => true }, claimOf(1), 'late', RUN);
    job.abort(new JobCancelledError('fn', '1'));
    await expect(collector.add('late', job)).rejects.toThrow(JobCancelledError);
    expect(inputs()).toEqual([]);
  });

  it('ends a job with it that has held its key before its batch begins, and runs the others', async () => {
    open({ size: 2, wait: WAIT_MS });
    for (const hasOthers of [true, false]) {
      const held = add('held');
      expect(() => held.job.holdKey('1s')).toThrow(HoldKeyError);
      const others = hasOthers ? [add('one'), add('two')] : [];
      await expect(held.output).rejects.toBe(held.job.endsWith);
      for (const { end } of batches) end.open();
      await Promise.all(others.map(({ output }) => output));
      expect(inputs()).toEqual([['one', 'two']]);
    }
  });

  it('has no place for a job whose run ends while its batch goes on, and all of them afterwards', async () => {
    open();
    const [one, other] = [add(1), add(2)];
    await eventually(() => expect(batches).toHaveLength(1));
    expect(collector.free(1, 2)).toBe(0);
    collector.ended(one.job.claim);
    expect(collector.free(1, 1)).toBe(0);
    // As a worker does, which ends the run before it tells the job.
    one.job.abort(new JobCancelledError('fn', '1'));
    expect(collector.free(1, 1)).toBe(0);
    batches[0]?.end.open();
    await expect(other.output).resolves.toBe(2);
    expect(collector.free(1, 1)).toBe(1);
    collector.ended(other.job.claim);
    expect(collector.free(1, 0)).toBe(2);
  });

  it('has its places again when all runs of a batch have ended, as by their timeouts, whose handler goes on', async () => {
    open();
    const hung = [add(1), add(2)];
    await eventually(() => expect(batches).toHaveLength(1));
    for (const input of [3, 4]) add(input);
    for (const { job } of hung) {
      expect(collector.free(1, 2)).toBeLessThanOrEqual(0);
      collector.ended(job.claim);
    }
    await eventually(() =>
      expect(inputs()).toEqual([
        [1, 2],
        [3, 4],
      ]),
    );
    for (const { end } of batches) end.open();
    await eventually(() => expect(collector.free(1, 0)).toBe(2));
  });

  it('leaves out a job that is cancelled while it waits', async () => {
    open();
    const { job, output } = add('cancelled');
    job.abort(new JobCancelledError('fn', '1'));
    await expect(output).rejects.toThrow(JobCancelledError);
    for (const input of ['a', 'b']) add(input);
    await eventually(() => expect(batches.length).toBeGreaterThan(0));
    expect(inputs()).toEqual([['a', 'b']]);
    batches[0]?.end.open();
  });

  it('begins one that is not full when its time is up', async () => {
    open({ size: 3, wait: WAIT_MS });
    for (const input of [1, 2]) add(input);
    expect(inputs()).toEqual([]);
    await eventually(() => expect(inputs()).toEqual([[1, 2]]));
    for (const input of [3, 4, 5]) add(input);
    batches[0]?.end.open();
    await eventually(() =>
      expect(inputs()).toEqual([
        [1, 2],
        [3, 4, 5],
      ]),
    );
    batches[1]?.end.open();
  });

  it('hears which of its jobs are lost before it begins, if that is not sure, and waits for no more', async () => {
    open({ size: 3 });
    const answer = gate();
    const source = { progress: async () => true };
    let asked = 0;
    const uncertain: RunningJob = new RunningJob(source, claimOf(1), 'lost', {
      ...RUN,
      beSure: () => {
        asked += 1;
        return answer.passed.then(() => uncertain.abort(new LeaseLostError('fn', '1')));
      },
    });
    const lost = expect(collector.add('lost', uncertain)).rejects.toThrow(LeaseLostError);
    add('kept');
    await until(() => asked > 0);
    // It is full now, and begins all the same only when the answer is there.
    add('new');
    expect(inputs()).toEqual([]);
    answer.open();
    await lost;
    await eventually(() => expect(inputs()).toEqual([['kept', 'new']]));
    expect(asked).toBe(1);
    batches[0]?.end.open();
  });

  it('waits for no others to a suspect, which runs alone', async () => {
    open({ size: 3, wait: 60_000 });
    const suspect = new RunningJob(
      { progress: async () => true },
      { ...claimOf(1), suspect: true },
      's',
      RUN,
    );
    void collector.add('s', suspect).catch(() => undefined);
    await eventually(() => expect(inputs()).toEqual([['s']]));
    batches[0]?.end.open();
  });

  it('has no job in a batch whose run has just ended', async () => {
    open({ size: 2, wait: WAIT_MS });
    const run = { ...RUN, hasEnded: false };
    const over = new RunningJob({ progress: async () => true }, claimOf(1), 'over', run);
    void collector.add('over', over).catch(() => undefined);
    run.hasEnded = true;
    add('next');
    await eventually(() => expect(inputs()).toEqual([['next']]));
    batches[0]?.end.open();
  });

  it('holds the key of the job that says so; the others go back, the newest first', async () => {
    const ends: string[] = [];
    collector = new BatchCollector('fn', { size: 3, wait: 0 }, async (_, jobs) => {
      await turnOfEventLoop();
      return jobs[1]?.holdKey('3s');
    });
    await Promise.all(
      ['a', 'b', 'c'].map((input) =>
        add(input).output.catch((error: Error) => void ends.push(`${input} ${error.constructor.name}`)),
      ),
    );
    expect(ends).toEqual(['c BatchStoppedError', 'b HoldKeyError', 'a BatchStoppedError']);
  });

  it('holds no key of the others if the job that says so is over', async () => {
    collector = new BatchCollector('fn', { size: 3, wait: 0 }, async (_, jobs) => {
      await turnOfEventLoop();
      jobs[1]?.abort(new JobCancelledError('fn', ''));
      return jobs[1]?.holdKey('3s');
    });
    const [a, , b] = ['a', 'over', 'b'].map((input) => add(input).output);
    await expect(a).rejects.toBeInstanceOf(BatchStoppedError);
    await expect(b).rejects.toBeInstanceOf(BatchStoppedError);
  });

  it('makes a batch half as large as one that has gone back, until one ends', async () => {
    const sizes: number[] = [];
    collector = new BatchCollector('fn', { size: 8, wait: 0 }, async (inputs, jobs) => {
      await turnOfEventLoop();
      if (sizes.push(inputs.length) > 3) return inputs.map((input) => ok(input));
      jobs[0]?.abort(new JobCancelledError('fn', '1'));
      throw jobs[0]?.signal.reason;
    });
    const added = Array.from({ length: 8 + 4 + 2 + 1 + 8 }, (_, input) => add(input).output);
    await Promise.allSettled(added);
    expect(sizes).toEqual([8, 4, 2, 1, 8]);
  });

  it('waits anew if the only job that it has collected leaves', async () => {
    open({ wait: 60_000 });
    const { job } = add('cancelled');
    const timer = collector['timer'];
    job.abort(new JobCancelledError('fn', '1'));
    add('next');
    expect(collector['timer']).not.toBe(timer);
    collector['rest']();
  });

  it('has places for whole batches: one that ends has them all again', async () => {
    open({ size: 3 });
    expect(collector.free(2, 0)).toBe(6);
    let told = 0;
    collector.onPlaces = () => void (told += 1);
    const { job } = add(1);
    expect(collector.free(2, 1)).toBe(5);
    await eventually(() => expect(batches).toHaveLength(1));
    expect(collector.free(2, 1)).toBe(3);
    expect(told).toBe(1);
    batches[0]?.end.open();
    await eventually(() => expect(collector.free(2, 1)).toBe(5));
    expect(told).toBe(2);
    collector.ended(job.claim);
    expect(collector.free(2, 0)).toBe(6);
  });
});
