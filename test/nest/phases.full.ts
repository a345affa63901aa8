import { describe, expect, it } from '@jest/globals';
import { useRedis } from '../support/use-redis.js';
import { Program, stopProgramsAfterEach } from '../support/worker-process.js';
import { onThisMachine } from '../support/machine.js';

/** What holds a process open does so for longer, or for good; a busy machine takes its time. */
const MOST_MS = 30_000;
const PROGRAM_MS = 120_000;

const ENDS = {
  'a second instance refuses': 'refused',
  'two handlers of one function': expect.stringContaining('both handle "held"'),
  'a hook fails, and the app is closed': 'broken, closed: done',
  'closed before it was initialised': 'done',
  'closed as it begins to start': 'done, started: done',
  'closed while its workers start': expect.stringMatching(/^done, started: /),
  'closed while options are made': 'done, started: done',
  'closed twice': 'done, done, done',
};

/** With a second instance on a port that refuses, which takes ten seconds each. */
const UNREACHABLE_ENDS = {
  'a second instance is unreachable': expect.stringContaining('is not reachable'),
  'closed while it waits for a server that is not there': expect.stringMatching(/^done, started: /),
};

describe('An app that does not start, or is closed in any phase', () => {
  const used = useRedis();
  stopProgramsAfterEach();

  it.each([
    ['memory', () => ({ connection: 'memory:' }), ENDS],
    [
      'Redis',
      () => ({ connection: used.url, unreachable: 'redis://127.0.0.1:1' }),
      { ...ENDS, ...UNREACHABLE_ENDS },
    ],
  ])(
    'leaves nothing running on %s, and its process ends',
    async (_, settings, ends) => {
      const program = await Program.start('test/nest/phases.ts', settings());
      const { lingered } = await program.says('exit', PROGRAM_MS);
      const ended = program.all('ended');
      expect(Object.fromEntries(ended.map(({ name, ended: how }) => [name, how]))).toEqual(ends);
      expect(ended.filter(({ left }) => (left as string[]).length > 0)).toEqual([]);
      expect(lingered).toBeLessThan(onThisMachine(MOST_MS));
      expect((await used.redis.get('count:held')) ?? '0').toBe('0');
      await expect(used.redis.exists('lease:held')).resolves.toBe(0);
    },
    PROGRAM_MS + 30_000,
  );
});
