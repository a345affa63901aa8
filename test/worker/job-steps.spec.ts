import { beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { JobSteps } from '../../lib/worker/job-steps.js';
import { gate } from '../support/gate.js';
import { until } from '../support/until.js';
import { claimOf, KeptRecords } from './kept-records.js';

const HOUR_MS = 3_600_000;

describe('JobSteps', () => {
  let records: KeptRecords;
  let runs: number;
  /** The steps that ran, over all runs of the job. */
  let ran: string[];
  let now: number;
  let isEnding: boolean;

  beforeEach(() => {
    records = new KeptRecords();
    [runs, ran, now, isEnding] = [0, [], HOUR_MS, false];
    records.time = () => now;
  });

  /** The steps of the next run of the job. */
  function nextRun(version = ''): JobSteps {
    return new JobSteps({
      ...{ claim: claimOf((runs += 1)), records, codec: records.codec, version, maxStepBytes: 100 },
      now: () => now,
      isEnding: () => isEnding,
      goOn: () => {
        if (isEnding) throw new Error('goes on elsewhere');
      },
      onLost: () => {
        throw new Error('lost');
      },
      flushStreams: async () => undefined,
      park: (signals, delay) => {
        throw new Error(`waits for ${signals.join(', ')} for ${delay} ms`);
      },
    });
  }

  const step = (steps: JobSteps, name: string) =>
    steps.run(name, () => `${name} in run ${ran.push(name) && runs}`);

  it('runs each step once: a later run gets what was recorded', async () => {
    const first = nextRun();
    await step(first, 'one');
    await step(first, 'two');
    const second = nextRun();
    const outputs = [await step(second, 'one'), await step(second, 'two'), await step(second, 'three')];
    await second.end();
    expect(outputs).toEqual(['one in run 1', 'two in run 1', 'three in run 2']);
    expect(ran).toEqual(['one', 'two', 'three']);
  });

  it('writes steps that run side by side together, as far as they are no more than one large step', async () => {
    const steps = nextRun();
    const names = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(names.map((name) => steps.run(name, () => (name === 'd' ? 'd'.repeat(70) : name))));
    const written = ['abc', 'd', 'e'].map((some) => ['steps', ...[...some].map((name) => `step:${name}`)]);
    expect(records.writes).toEqual(written);
  });

  it('keeps the order of its writes: a later step waits for one that the server holds up', async () => {
    const [isHeld, mayWrite] = [gate(), gate()];
    records.writing = () => {
      records.writing = async () => undefined;
      isHeld.open();
      return mayWrite.passed;
    };
    const steps = nextRun();
    const first = step(steps, 'one');
    await isHeld.passed;
    const second = step(steps, 'two');
    await turn();
    mayWrite.open();
    await Promise.all([first, second]);
    expect(records.writes).toEqual([
      ['steps', 'step:one'],
      ['steps', 'step:two'],
    ]);
  });

  it('begins anew in another version, whose first step removes what the old one recorded', async () => {
    const old = nextRun('1');
    for (const name of ['one', 'two']) await step(old, name);
    const changed = nextRun('2');
    await expect(step(changed, 'two')).resolves.toBe('two in run 2');
    await changed.end();
    expect([...records.fields.keys()].toSorted()).toEqual(['step:two', 'steps']);
  });

  it.each<[string, string[], string]>([
    ['in another order', ['two', 'one'], '"two" stands where "one" was'],
    ['one of which is gone', ['one'], '"two" is gone'],
  ])('fails a run with steps %s than those recorded', async (_, names, says) => {
    const first = nextRun();
    for (const name of ['one', 'two']) await step(first, name);
    const changed = nextRun();
    const run = async () => {
      for (const name of names) await step(changed, name);
      await changed.end();
    };
    await expect(run()).rejects.toThrow(says);
  });

  it('begins no step that another worker is to run', async () => {
    const steps = nextRun();
    await step(steps, 'one');
    isEnding = true;
    await expect(step(steps, 'two')).rejects.toThrow('goes on elsewhere');
    expect(ran).toEqual(['one']);
  });

  it('stops a run whose job another worker has', async () => {
    const steps = nextRun();
    records.isLost = true;
    await expect(step(steps, 'one')).rejects.toThrow('lost');
  });

  it('refuses a step that is larger than the limit', async () => {
    const large = nextRun().run('large', () => 'x'.repeat(100));
    await expect(large).rejects.toMatchObject({ code: 'STEP_TOO_LARGE' });
    expect(records.fields.size).toBe(0);
  });

  it('has a cursor that goes on where an earlier run stood', async () => {
    const first = await nextRun().cursor('page', 0);
    expect(first.value).toBe(0);
    await first.advance(7);
    await first.flush();
    expect((await nextRun().cursor('page', 0)).value).toBe(7);
  });

  it('writes the place of a cursor within a second, also if the clock was set back', async () => {
    const cursor = await nextRun().cursor('page', 0);
    now -= HOUR_MS;
    await cursor.advance(4);
    await until(async () => (await nextRun().cursor('page', 0)).value === 4);
  });

  it('writes the places of all cursors before the next step', async () => {
    const steps = nextRun();
    const cursor = await steps.cursor('page', 0);
    await cursor.advance(3);
    await step(steps, 'one');
    const later = nextRun();
    expect((await later.cursor('page', 0)).value).toBe(3);
  });

  it('waits for a signal in all runs together, and returns its data when it is there', async () => {
    await expect(nextRun().waitForAny(['go'], HOUR_MS)).rejects.toThrow(`waits for go for ${HOUR_MS} ms`);
    now += 1000;
    await expect(nextRun().waitForAny(['go'], HOUR_MS)).rejects.toThrow(
      `waits for go for ${HOUR_MS - 1000} ms`,
    );
    records.signal('go', { by: 'ada' });
    await expect(nextRun().waitForAny(['go'], HOUR_MS)).resolves.toEqual({
      name: 'go',
      data: { by: 'ada' },
    });
  });

  it('waits for a signal by the clock of the server, as each run may have another host', async () => {
    const ahead = 2 * HOUR_MS;
    records.time = () => now - ahead;
    await expect(nextRun().waitForAny(['go'], HOUR_MS)).rejects.toThrow(`waits for go for ${HOUR_MS} ms`);
    now -= ahead;
    records.time = () => now;
    await expect(nextRun().waitForAny(['go'], HOUR_MS)).rejects.toThrow(`waits for go for ${HOUR_MS} ms`);
  });

  it('goes on without a signal that came too late, in later runs too', async () => {
    await expect(nextRun().waitForAny(['go'], HOUR_MS)).rejects.toThrow('waits for go');
    now += HOUR_MS;
    const late = nextRun();
    await expect(late.waitForAny(['go'], HOUR_MS)).rejects.toMatchObject({ code: 'SIGNAL_TIMEOUT' });
    await step(late, 'without it');
    records.signal('go', 'too late');
    await expect(nextRun().waitForAny(['go'], HOUR_MS)).rejects.toMatchObject({ code: 'SIGNAL_TIMEOUT' });
  });

  it('waits for several signals until one time, also for one that a deploy has added', async () => {
    await expect(nextRun().waitForAny(['go'], HOUR_MS)).rejects.toThrow(`waits for go for ${HOUR_MS} ms`);
    now += 1000;
    await expect(nextRun().waitForAny(['go', 'stop'], HOUR_MS)).rejects.toThrow(
      `waits for go, stop for ${HOUR_MS - 1000} ms`,
    );
    records.signal('stop', 1);
    await expect(nextRun().waitForAny(['go', 'stop'], HOUR_MS)).resolves.toEqual({ name: 'stop', data: 1 });
  });

  it('takes of several signals the one that came first, and of two at the same time the one named first', async () => {
    records.signal('go', 'late', 2);
    records.signal('stop', 'early', 1);
    records.signal('also', 'early', 1);
    await expect(nextRun().waitForAny(['go', 'stop', 'also'], HOUR_MS)).resolves.toMatchObject({
      name: 'stop',
    });
  });

  it('stays with the signal that it took once another step is recorded, whatever the clocks say later', async () => {
    records.signal('go', 1, 50);
    const first = nextRun();
    await first.waitForAny(['go', 'stop'], HOUR_MS);
    await step(first, 'went');
    records.signal('stop', 2, 10);
    await expect(nextRun().waitForAny(['go', 'stop'], HOUR_MS)).resolves.toEqual({ name: 'go', data: 1 });
  });

  it('ends no run in which something was refused beside a wait', async () => {
    const steps = nextRun();
    const waits = steps.waitForAny(['go'], HOUR_MS);
    await expect(steps.run('beside', () => 1)).rejects.toMatchObject({ code: 'CONFIGURATION' });
    await expect(waits).rejects.toMatchObject({ code: 'CONFIGURATION' });
  });

  it('goes on behind a wait that was refused for its names', async () => {
    const steps = nextRun();
    await expect(steps.waitForAny(['go', 'go'], HOUR_MS)).rejects.toMatchObject({ code: 'DUPLICATE_STEP' });
    await expect(step(steps, 'next')).resolves.toBe('next in run 1');
  });

  it('may wait once the steps before it have ended, also those that failed', async () => {
    const steps = nextRun();
    const fails = steps.run('fails', () => Promise.reject(new Error('it failed')));
    await expect(fails).rejects.toThrow('it failed');
    await expect(steps.waitForAny(['go'], HOUR_MS)).rejects.toThrow('waits for go');
  });
});
