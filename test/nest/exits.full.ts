import { describe, expect, it } from '@jest/globals';
import { runScript } from '../support/test-process.js';
import { useRedis } from '../support/use-redis.js';
import { onThisMachine } from '../support/machine.js';

/** What holds a process open does so for longer, or for good; a busy machine takes its time. */
const MOST_MS = 30_000;

describe('a process whose app has closed', () => {
  const used = useRedis();

  it.each([
    ['Redis', () => used.url],
    ['memory', () => 'memory:'],
  ])('ends by itself at once on %s', async (_, connection) => {
    const { stdout } = await runScript('test/nest/exits.ts', connection());
    const { output, lingered } = JSON.parse(stdout) as { output: string; lingered: number };
    expect(output).toBe('DONE');
    expect(lingered).toBeLessThan(onThisMachine(MOST_MS));
  });
});
