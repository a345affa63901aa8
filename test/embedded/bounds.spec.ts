import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { EmbeddedServer } from '../../lib/embedded/embedded-server.js';
import { EmbeddedConnection, openEmbedded } from '../../lib/embedded/open-embedded.js';
import { Keyspace } from '../../lib/embedded/store/keyspace.js';
import { systemClock } from '../../lib/job/clock.js';

it('The embedded server keeps nothing of workers and clients that have closed', async () => {
  const server = new EmbeddedServer(systemClock);
  const channels = ['channel:fn', 'cancel:fn'];
  const clients = () => server.run('PUBSUB', ['NUMSUB', ...channels]);
  const { store, source, close } = openEmbedded(server);
  await source.open(['fn']);
  await store.listen('fn', { event: () => undefined, progress: () => undefined, resync: () => undefined });
  expect([clients(), server.run('GET', ['count:fn'])]).toEqual([['channel:fn', 1, 'cancel:fn', 1], '1']);
  await source.close();
  await store.close();
  close();
  expect([clients(), server.run('GET', ['count:fn'])]).toEqual([['channel:fn', 0, 'cancel:fn', 0], '0']);
});

it('The embedded server ends keys by its clock', () => {
  let now = 1000;
  const server = new EmbeddedServer({ now: () => now });
  server.run('SET', ['key', 'value', 'PX', '500']);
  now += 500;
  expect(server.run('GET', ['key'])).toBe('value');
  now += 1;
  expect(server.run('GET', ['key'])).toBeNull();
});

it('The embedded server forgets keys that are gone, and how long they were to stay', () => {
  const keys = new Keyspace(() => 1000);
  keys.put('kept', 'value');
  for (let i = 0; i < 10_000; i++) {
    keys.put(`key-${i}`, 'value');
    expect(keys.delete(`key-${i}`)).toBe(true);
  }
  expect([keys.delete('key-1'), keys.find('key-1'), keys.keys()]).toEqual([false, undefined, ['kept']]);
  expect(keys['entries'].size).toBeLessThan(1100);

  keys.put('again', 'first');
  keys.expire('again', 2000);
  keys.delete('again');
  keys.expire('again', 2000);
  keys.put('again', 'second');
  expect([keys.find('again'), keys.expiry('again')]).toEqual(['second', undefined]);
});

it('A connection to the embedded server keeps the order of its commands, also behind one that waits', async () => {
  const connection = new EmbeddedConnection(new EmbeddedServer(systemClock), 'test');
  const redis = (await connection.ready()) as Redis;
  const [popped, pushed] = [redis.blpop('list', 0.05), redis.lpush('list', 'x')];
  await expect(popped).resolves.toBeNull();
  await expect(pushed).resolves.toBe(1);
  connection.close();
});
