import { describe, expect, it } from '@jest/globals';
import * as scripts from '../../lib/import/import-scripts.js';
import { ImportInProcess } from './import-in-process.js';
import { useRedis, useRedisServer } from '../support/use-redis.js';

describe('the scripts of an import', () => {
  const used = useRedis();
  let queues = 0;

  /** A list with jobs of these ids, the first one first. */
  async function listOf(...ids: string[]) {
    const base = `bull:queue-${++queues}:`;
    for (const id of ids) {
      await used.redis.hset(base + id, { data: `"${id}"`, opts: '{}' });
      await used.redis.lpush(`${base}wait`, id);
    }
    const keys = {
      journal: `${base}journal`,
      wait: `${base}wait`,
      events: `${base}events`,
      de: `${base}de:`,
    };
    const read = (cursor = 0, most = 10, largest = 100, bytes = 1000) =>
      scripts.read.run(used.redis, [keys.wait, base], 'list', 'hashes', cursor, most, largest, bytes, [
        'name',
      ]);
    const take = (jobs: readonly scripts.ReadJob[], batch = 'batch', name = 'name') =>
      scripts.take.run(
        used.redis,
        [keys.journal, keys.wait, base, `${base}priority`],
        ...(['list', 'hashes', 1000, name, batch] as const),
        jobs.flatMap(({ id, score, fingerprint }) => [id, score, fingerprint]),
      );
    const finish = (name: string, number: string, ids: readonly string[]) =>
      scripts.finish.run(
        used.redis,
        [keys.journal, base, keys.events, keys.de],
        name,
        number,
        'hashes',
        100,
        ids,
      );
    const close = (name: string) => scripts.close.run(used.redis, [keys.journal], name);
    return { base, keys, read, take, finish, close };
  }

  it('read jobs as workers take them, page by page, and no more bytes than they may', async () => {
    const { read } = await listOf('1', '2', '3');
    const ids = async (...args: Parameters<typeof read>) => (await read(...args)).jobs.map(({ id }) => id);
    await expect(ids()).resolves.toEqual(['1', '2', '3']);
    await expect(ids(1, 1)).resolves.toEqual(['2']);
    await expect(ids(0, 10, 100, 6)).resolves.toEqual(['1', '2']);
    const { jobs } = await read(0, 10, 2);
    expect(jobs.map(({ state }) => state)).toEqual(['large', 'large', 'large']);
  });

  it('take no job that was changed after it was read, or is not where it was', async () => {
    const { base, keys, read, take } = await listOf('1', '2', '3');
    const { jobs } = await read();
    await used.redis.hset(`${base}1`, 'data', '"other"');
    await used.redis.lrem(keys.wait, 1, '2');
    await expect(take(jobs)).resolves.toEqual({ name: 'name', number: '1', batch: 'batch', taken: '001' });
    await expect(used.redis.lrange(keys.wait, '0', '-1')).resolves.toEqual(['1']);
  });

  it('take a job once, also if a list has it twice', async () => {
    const { keys, read, take } = await listOf('1', '2');
    await used.redis.lpush(keys.wait, '1');
    await expect(take((await read()).jobs)).resolves.toMatchObject({ taken: '110' });
    await expect(used.redis.lrange(keys.wait, '0', '-1')).resolves.toEqual(['1']);
  });

  it('take nothing while there is another step, and leave no journal if they took nothing', async () => {
    const { keys, read, take } = await listOf('1', '2');
    const [first, second] = (await read()).jobs as [scripts.ReadJob, scripts.ReadJob];
    await used.redis.lrem(keys.wait, 1, '1');
    await expect(take([first])).resolves.toBeUndefined();
    await expect(used.redis.exists(keys.journal)).resolves.toBe(0);
    const step = await take([second], 'first');
    await used.redis.lpush(keys.wait, '1');
    await expect(take([first], 'second', 'other')).resolves.toEqual(step);
    await expect(used.redis.llen(keys.wait)).resolves.toBe(1);
  });

  it('end only the step that is meant, and delete only the jobs that it took', async () => {
    const { base, read, take, finish, close } = await listOf('1', '2');
    const step = await take((await read()).jobs);
    expect(step).toMatchObject({ number: '1', taken: '11' });
    await expect(finish('name', '2', ['1'])).resolves.toBe(false);
    await expect(finish('other', '1', ['1'])).resolves.toBe(false);
    await expect(close('name')).resolves.toBe(false);
    await used.redis.del(`${base}2`);
    await used.redis.hset(`${base}2`, { data: '"a new one"', opts: '{}' });
    await expect(finish('name', '1', ['1', '2'])).resolves.toBe(true);
    await expect(used.redis.exists(`${base}1`, `${base}2`)).resolves.toBe(1);
    await expect(finish('name', '1', ['1', '2'])).resolves.toBe(false);
    await expect(close('other')).resolves.toBe(false);
    await expect(close('name')).resolves.toBe(true);
  });
});

describe('a step whose rights do not suffice', () => {
  const used = useRedisServer();

  it.each(['source', 'target'] as const)(
    'fails with the address of the server that refuses it: the %s',
    async (refusing) => {
      const names = { source: 'reader', target: 'writer' };
      await used.redis.acl('SETUSER', 'reader', 'on', 'nopass', '~*', '&*', '+@all');
      await used.redis.acl('SETUSER', 'writer', 'on', 'nopass', '~*', '&*', '+@all');
      await used.redis.rpush('bull:mail:wait', '1');
      await used.redis.hset('bull:mail:1', 'name', 'send', 'data', '{}', 'opts', '{}', 'timestamp', '1');
      const urlOf = (user: string, db: number) => used.url.replace('//', `//${user}:@`) + `/${db}`;
      const urls = { source: urlOf('reader', 0), target: urlOf('writer', 1) };
      await used.redis.acl('SETUSER', names[refusing], '-evalsha', '-eval');
      await expect(new ImportInProcess(urls).run()).rejects.toMatchObject({
        code: 'REFUSED',
        message: expect.stringMatching(
          new RegExp(`^The import at 127\\.0\\.0\\.1:${used.port} was refused.*NOPERM`),
        ),
      });
    },
  );

  it('takes no schedule that it can not remove', async () => {
    const base = 'bull:mail:';
    await used.redis.zadd(`${base}repeat`, '1', 'daily');
    await used.redis.zadd(`${base}delayed`, '1', 'repeat:daily:1');
    const keys = ['journal', 'repeat', 'repeat:daily', 'delayed', 'repeat:daily:1'].map((key) => base + key);
    const take = () =>
      scripts.takeSchedule.run(used.redis, keys, 'name', 'batch', 'daily', '1', 'repeat:daily:1');
    await used.redis.acl('SETUSER', 'default', '-zrem');
    await expect(take()).rejects.toThrow(/NOPERM|can't run/);
    await expect(used.redis.hexists(`${base}journal`, 'batch')).resolves.toBe(0);
    await used.redis.acl('SETUSER', 'default', '+zrem');
    await expect(take()).resolves.toMatchObject({ batch: 'batch', taken: '1' });
    await expect(used.redis.zcard(`${base}repeat`)).resolves.toBe(0);
  });
});
