import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { killProcesses } from '../support/test-process.js';
import { Program } from '../support/worker-process.js';
import { RedisServer } from '../support/redis-server.js';
import { cheaper, judge, rounded, type NodeFigures } from './node-cost.js';

const BUDGET = new URL('node-budget.json', import.meta.url);
const PROGRAM = fileURLToPath(new URL('node-cost-program.ts', import.meta.url));
/** A machine that is busy with something else changes how jobs share calls: a heavier path is so in all of them. */
const MAX_ROUNDS = 2;
const MAX_MS = 100_000;

describe('judge', () => {
  const cost = { promises: 10, bytes: 1000 };
  const figures = (changed: Partial<typeof cost>, files = 10) => {
    const names = ['enqueue, one at a time', 'enqueue, 100 at a time', 'enqueue in bulk by 1000'];
    const all = [...names, 'call, one at a time', 'run, one at a time', 'run, 100 at a time'];
    const cases = Object.fromEntries(all.map((name) => [name, { ...cost, ...changed }]));
    const way = { functions: 100, files };
    return { cases, reach: { run: way, call: way } } as NodeFigures;
  };

  it('accepts figures within the budget, and a little above', () => {
    expect(judge(figures({}), figures({}))).toEqual([]);
    expect(judge(figures({ promises: 10.3, bytes: 1050 }), figures({}))).toEqual([]);
  });

  it.each([{ promises: 10.4 }, { bytes: 1060 }])('refuses more: %j', (more) => {
    const said = judge(figures(more), figures({}));
    expect(said).toHaveLength(6);
    expect(said[0]).toContain('pays nothing');
  });

  it('refuses a longer way through the package', () => {
    expect(judge(figures({}, 11), figures({}))).toEqual([
      expect.stringMatching(/reach of a run: 11 files/),
      expect.stringMatching(/reach of a call: 11 files/),
    ]);
  });

  it.each([{ promises: 9 }, { bytes: 890 }])('wants less to be recorded: %j', (less) => {
    expect(judge(figures(less), figures({}))[0]).toContain('Keep it so');
  });

  it('is given the lower of the figures of several rounds', () => {
    const [one, other] = [figures({ promises: 12 }, 12), figures({ bytes: 1200 }, 11)];
    expect(cheaper(one, other)).toEqual(figures({}, 11));
    expect(judge(cheaper(figures({ bytes: 1100 }), figures({ bytes: 1060 })), figures({}))).toHaveLength(6);
  });

  it('needs a budget for each', () => {
    const { reach } = figures({});
    expect(judge(figures({}), { cases: {}, reach } as NodeFigures)[0]).toContain('has no budget');
  });
});

describe('what a plain job costs in Node', () => {
  let server: RedisServer;
  beforeAll(async () => void (server = await RedisServer.start()));
  afterAll(async () => {
    await killProcesses();
    await server.stop();
  });

  it('keeps its budget: Promises, allocated bytes, functions and files', async () => {
    let complaints: string[] = [];
    let cheapest: NodeFigures | undefined;
    const isRecorded = process.env.RECORD_BUDGETS !== undefined;
    const budget = isRecorded ? undefined : (JSON.parse(readFileSync(BUDGET, 'utf8')) as NodeFigures);
    const url = `redis://127.0.0.1:${server.port}`;
    for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
      const program = await Program.start(PROGRAM, { url, budget });
      const figures = (await program.says('figures', MAX_MS)) as unknown as NodeFigures;
      if (!budget) {
        writeFileSync(BUDGET, `${JSON.stringify(rounded(figures), null, 2)}\n`);
        return;
      }
      cheapest = cheapest ? cheaper(cheapest, figures) : figures;
      complaints = judge(cheapest, budget);
      if (complaints.length === 0) return;
    }
    expect(complaints).toEqual([]);
  });
});
