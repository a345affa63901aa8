import { expect, it } from '@jest/globals';
import { claimOne } from '../../contract/claiming.js';
import { useRedisServer } from '../../support/use-redis.js';
import { sourceOn } from '../source-rig.js';
import { useSource } from './use-source.js';

const server = useRedisServer();
const used = useSource(server);

it('a source whose start fails starts when it is opened again, with one thread for its locks', async () => {
  await server.redis.acl('SETUSER', 'worker', 'on', '>secret', '~*', '+@all', 'resetchannels');
  const source = sourceOn(
    { connection: server.url.replace('redis://', 'redis://worker:secret@') },
    { keeper: true },
  );
  await expect(source.open(['K'])).rejects.toThrow('NOPERM');
  const keeper = source['locks']['keeper'];
  await server.redis.acl('SETUSER', 'worker', '&*');
  await source.open(['K']);
  expect(source['locks']['keeper']).toBe(keeper);
  await used.client.queue('q').put('K', {}, { jid: 'a' });
  await expect(claimOne(source, 'K')).resolves.toMatchObject({ id: 'a' });
  await source.close();
});
