import { expect, it, jest } from '@jest/globals';
import { claimOne } from '../../contract/claiming.js';
import { useRedisServer } from '../../support/use-redis.js';
import { sourceOn } from '../source-rig.js';
import { useSource } from './use-source.js';

const server = useRedisServer();
const used = useSource(server);

it('a source whose start fails starts when it is opened again, with one thread for its locks', async () => {
  const source = sourceOn({ connection: server.url }, { keeper: true });
  jest.spyOn(source['hub'], 'listen').mockRejectedValueOnce(new Error('It has no line to the channels.'));
  await expect(source.open(['K'])).rejects.toThrow('no line');
  const keeper = source['locks']['keeper'];
  expect(keeper).toBeDefined();
  await source.open(['K']);
  expect(source['locks']['keeper']).toBe(keeper);
  await used.client.queue('q').put('K', {}, { jid: 'a' });
  await expect(claimOne(source, 'K')).resolves.toMatchObject({ id: 'a' });
  await source.close();
});
