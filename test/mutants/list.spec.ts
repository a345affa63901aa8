import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { change, readMutants, type Mutant } from './mutant.js';
import { judge } from './run-mutants.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FEWEST = 80;
const FEWEST_OF_A_PART = 5;
const PARTS = ['embedded', 'nest', 'testing', 'dashboard', 'qless', 'jq', 'jobd'];
const mutants = readMutants();
const all = [...mutants.values()].flat();

describe('the list of mutants', () => {
  it('has enough of them, in all and in each part', () => {
    expect(all.filter(({ equal }) => equal === undefined).length).toBeGreaterThanOrEqual(FEWEST);
    expect(PARTS.filter((part) => (mutants.get(part)?.length ?? 0) < FEWEST_OF_A_PART)).toEqual([]);
  });

  it('has each once', () => {
    const changes = all.map(({ file, find, replace }) => JSON.stringify([file, find, replace]));
    expect(changes.filter((one, index) => changes.indexOf(one) !== index)).toEqual([]);
  });

  it.each([...mutants.keys()])('%s changes code that exists, and names suites of `npm test`', (part) => {
    const wrong = (mutants.get(part) ?? []).flatMap((mutant) => problemsOf(mutant));
    expect(wrong).toEqual([]);
  });
});

describe('a mutant', () => {
  const mutant: Mutant = { file: 'a.ts', find: '>=', replace: '>', suites: ['a.spec.ts'], breaks: 'it' };
  const failure = { test: 'does it', message: 'expected 1' };
  const result = { suite: 'a.spec.ts', failed: true, ran: true, failures: [failure] };

  it('changes one place', () => {
    expect(change('a >= b', mutant)).toBe('a > b');
    expect(() => change('a >= b >= c', mutant)).toThrow('a.ts has 2 times: >=');
    expect(() => change('a > b', mutant)).toThrow('a.ts has 0 times: >=');
  });

  it('is killed by a test that fails, and survives those that pass', () => {
    expect(judge(mutant, [result])).toEqual({ mutant, is: 'killed', by: 'a.spec.ts: does it' });
    expect(judge(mutant, [{ ...result, failed: false, failures: [] }]).is).toBe('survived');
    expect(judge(mutant, 'hung').is).toBe('hung');
    expect(judge(mutant, 'crashed').is).toBe('crashed');
  });

  it('is broken if its code does not load', () => {
    const message = 'ERR Error compiling script (new function)';
    expect(judge(mutant, [{ ...result, failures: [{ test: 'does it', message }] }]).is).toBe('broken');
    expect(judge(mutant, [{ ...result, ran: false }]).is).toBe('broken');
    const noJson = 'SyntaxError: Unexpected end of JSON input';
    expect(judge(mutant, [{ ...result, failures: [{ test: 'does it', message: noJson }] }]).is).toBe(
      'killed',
    );
  });
});

function problemsOf(mutant: Mutant): string[] {
  const { file, find, replace, suites, breaks } = mutant;
  const problems: string[] = [];
  try {
    change(readFileSync(join(ROOT, file), 'utf8'), mutant);
  } catch (error) {
    problems.push(String(error));
  }
  if (find === replace) problems.push(`${file}: changes nothing: ${find}`);
  if (breaks === '') problems.push(`${file}: does not say what it breaks: ${find}`);
  if (suites.length === 0) problems.push(`${file}: names no suite: ${find}`);
  for (const suite of suites) {
    if (!suite.endsWith('.spec.ts') || !existsSync(join(ROOT, suite))) {
      problems.push(`${file}: no suite of npm test: ${suite}`);
    }
  }
  return problems;
}
