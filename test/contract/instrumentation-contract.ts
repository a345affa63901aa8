import { describe, expect, it } from '@jest/globals';
import type { ClaimEvent } from '../../lib/job/instrumentation.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { useRecordedEvents } from '../support/recorded-events.js';
import { eventually } from '../support/until.js';
import { defineJob } from '../../lib/job/job-definition.js';
import type { SourceRig } from './rig.js';

/** What `instrumentation` publishes of the jobs of any source. */
export function instrumentationContract(rigOf: () => SourceRig): void {
  describe('instrumentation', () => {
    const record = useRecordedEvents();
    stopWorkersAfterEach();
    const definition = (fn: string) => defineJob(fn, { codec: 'text' });

    it('publishes that a job is claimed, run and settled, with its system and server', async () => {
      const fn = rigOf().fn();
      const seen = record('claim', 'run', 'settle');
      const source = rigOf().source();
      const id = await rigOf().submit(fn, 'x');
      await runWorker(source, definition(fn), () => 'done');
      await eventually(() => expect(seen.map(({ on }) => on)).toContain('settle:asyncEnd'));
      const server = { system: expect.stringMatching(/^\w+$/), server: source.address };
      const last = (on: string) => seen.filter((one) => one.on === on).at(-1)?.event;
      expect(seen.map(({ on }) => on)).not.toContain('run:error');
      expect(last('run:asyncEnd')).toMatchObject({
        ...server,
        claim: { fn, id },
        end: 'success',
        attempt: 1,
      });
      expect(last('settle:asyncEnd')).toMatchObject({ outcomes: [{ claim: { fn, id } }], refused: [] });
      const claimed = seen
        .filter(({ on }) => on === 'claim:asyncEnd')
        .map(({ event }) => event as ClaimEvent)
        .find(({ claims = [] }) => claims.length > 0);
      expect(claimed).toMatchObject({
        ...server,
        functions: [fn],
        claims: [{ fn, id }],
      });
      const runs = seen.filter(({ on }) => on.startsWith('run:'));
      expect(runs.map(({ on }) => on)).toEqual(['run:start', 'run:end', 'run:asyncStart', 'run:asyncEnd']);
      expect(new Set(runs.map(({ event }) => event)).size).toBe(1);
    });

    it('publishes why a run failed', async () => {
      const fn = rigOf().fn();
      const seen = record('run');
      await rigOf().submit(fn, 'x');
      const fail = () => {
        throw new Error('no disk');
      };
      await runWorker(rigOf().source(), definition(fn), fail);
      await eventually(() => expect(seen.map(({ on }) => on)).toContain('run:asyncEnd'));
      const failed = seen.find(({ on }) => on === 'run:error')?.event;
      expect(failed).toMatchObject({ error: { message: 'no disk' } });
      expect((failed as { end: string }).end).toMatch(/^(error|retry)$/);
    });
  });
}
