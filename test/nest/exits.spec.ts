import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { useRedis } from '../support/use-redis.js';

const run = promisify(execFile);
/** Anything that holds a process open does so for longer. */
const MOST_MS = 1000;
const root = fileURLToPath(new URL('../..', import.meta.url));

describe('a process whose app has closed', () => {
  const used = useRedis();

  it.each([
    ['Redis', () => used.url],
    ['memory', () => 'memory:'],
  ])('ends by itself at once on %s', async (_, connection) => {
    const program = ['--import', '@swc-node/register/esm-register', 'test/nest/exits.ts', connection()];
    const { stdout } = await run(process.execPath, program, {
      cwd: root,
      timeout: 25_000,
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    const { output, lingered } = JSON.parse(stdout) as { output: string; lingered: number };
    expect(output).toBe('DONE');
    expect(lingered).toBeLessThan(MOST_MS);
  });
});
