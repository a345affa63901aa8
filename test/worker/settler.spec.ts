import { beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import type { Claim, Outcome } from '../../lib/job/job-source.js';
import { JobLog } from '../../lib/worker/job-log.js';
import { Settler } from '../../lib/worker/settler.js';
import { inLines } from '../../lib/worker/worker-log.js';
import { gate, type Gate } from '../support/gate.js';
import { claimOf } from './kept-records.js';

const outcome = (run: number): Outcome => ({ claim: claimOf(run), status: 'success', output: 'out' });

describe('Settler', () => {
  /** What each call of the source had, and how a test answers it: with refused claims, or an error. */
  let calls: { runs: number[]; answer: Gate<readonly Claim[] | Error> }[];
  let said: string[];
  let settler: Settler;

  beforeEach(() => {
    [calls, said] = [[], []];
    const say = (message: string) => void said.push(message);
    const log = inLines({ warn: say, error: say });
    const source = {
      settle: async (outcomes: readonly Outcome[]) => {
        const answer = gate<readonly Claim[] | Error>();
        calls.push({ runs: outcomes.map(({ claim }) => claim.attempts), answer });
        const answered = await answer.passed;
        if (answered instanceof Error) throw answered;
        return answered;
      },
    };
    settler = new Settler(source, log, new JobLog(log));
  });

  const runs = () => calls.map((call) => call.runs);

  it('passes on the outcomes of a tick together, and does not wait for the replies to earlier ones', async () => {
    settler.settle(outcome(1));
    settler.settle(outcome(2));
    await turn();
    settler.settle(outcome(3));
    await turn();
    expect(runs()).toEqual([[1, 2], [3]]);
    for (const { answer } of calls) answer.open([]);
    await settler.settled(10_000);
    expect(said).toEqual([]);
  });

  it('is settled when all outcomes are answered', async () => {
    settler.settle(outcome(1));
    let isSettled = false;
    const settled = settler.settled(10_000).then(() => (isSettled = true));
    settler.settle(outcome(2));
    await turn();
    calls[0]?.answer.open([]);
    await turn();
    expect([runs(), isSettled]).toEqual([[[1], [2]], false]);
    calls[1]?.answer.open([]);
    await settled;
  });

  it('logs outcomes that were refused, that failed, and that were not answered in time', async () => {
    settler.settle(outcome(1));
    await turn();
    calls[0]?.answer.open([claimOf(1)]);
    await settler.settled(10_000);
    settler.settle(outcome(2));
    await turn();
    calls[1]?.answer.open(new Error('no server'));
    await settler.settled(10_000);
    settler.settle(outcome(3));
    await settler.settled(1);
    expect(said).toEqual([
      'The outcome of fn 1 was refused: its lease had expired.',
      'The outcome of fn 1 is lost: no server',
      '1 calls with outcomes were not answered in time',
    ]);
  });
});
