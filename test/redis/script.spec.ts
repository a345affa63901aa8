import { describe, expect, it } from '@jest/globals';
import { scriptOf, wholeScripts } from '../../lib/redis/script.js';
import { useRedis } from '../support/use-redis.js';

const CALLS = 5;

describe('A script', () => {
  const server = useRedis();
  const echo = scriptOf<[first: string | Uint8Array, rest: readonly (string | number)[]], Buffer[]>(
    'return {KEYS[1], unpack(ARGV)}',
    (reply) => reply as Buffer[],
  );

  it('gets its keys and arguments as they are, and of a buffer no more than the part that is given', async () => {
    const around = new Uint8Array([1, 2, 255, 0, 3, 4]);
    for (const bytes of [around.subarray(2, 4), Buffer.from(around).subarray(2, 4)]) {
      const [key, part, ...rest] = await echo.run(server.redis, ['key'], bytes, ['é', 7]);
      expect([String(key), ...rest.map(String)]).toEqual(['key', 'é', '7']);
      expect(part).toEqual(Buffer.from([255, 0]));
    }
  });

  it.each([undefined, null])('is not sent with the argument %p', async (argument) => {
    const sending = echo.run(server.redis, ['key'], argument as unknown as string, []);
    await expect(sending).rejects.toThrow(`must be text, a number or bytes, got ${argument}`);
  });

  it('is sent as text once, however many calls find that the server has forgotten it, each time', async () => {
    for (const _ of [1, 2]) {
      await server.redis.script('FLUSH');
      await server.redis.config('RESETSTAT');
      const replies = await Promise.all(
        Array.from({ length: CALLS }, (__, call) => echo.run(server.redis, [`${call}`], 'x', [])),
      );
      expect(replies.map(([key]) => Number(key))).toEqual([0, 1, 2, 3, 4]);
      expect(await server.redis.info('commandstats')).toMatch(/cmdstat_eval:calls=1,/);
    }
  });

  it('rejects with an error of its own, and is not sent again', async () => {
    const fails = scriptOf<[], unknown>(
      "return redis.call('INCR', KEYS[1]) and redis.error_reply('ERR no')",
      (reply) => reply,
    );
    await expect(fails.run(server.redis, ['count'])).rejects.toThrow('ERR no');
    await expect(server.redis.get('count')).resolves.toBe('1');
  });
});

describe('Scripts of a folder', () => {
  const whole = (files: Record<string, string>) => Object.fromEntries(wholeScripts(files));
  const two = '-- Gives two\n\nlocal two = 2\n';

  it('have each file that they include once, and files that only give names are none', () => {
    const one = '-- Gives one\n-- include two: two\n\nlocal one = two - 1\n';
    const sum = '-- include one: one\n-- include two: two\nreturn one + two';
    expect(whole({ one, two, sum })).toEqual({
      sum: '-- Gives one\n-- Gives two\n\nlocal two = 2\n\nlocal one = two - 1\nreturn one + two',
    });
  });

  it('have a file in each block that includes it, and once in a block and those inside it', () => {
    const include = '-- include two: two -- at the head +2 %';
    const lines = [
      'if a then',
      `  ${include}`,
      '',
      '  if b then',
      `    ${include}`,
      '    return two',
      '  end',
      'end',
    ];
    const script = [...lines, 'do', `  ${include}`, 'end', '-- include two: two'].join('\n');
    const twos = (whole({ script, two })['script'] ?? '').match(/local two/g);
    expect(twos).toHaveLength(3);
  });

  it('name a file that is not there', () => {
    expect(() => whole({ script: '-- include none: one' })).toThrow('There is no Lua file "none".');
  });
});
