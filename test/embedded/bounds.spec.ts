import { expect, it } from '@jest/globals';
import { EmbeddedServer } from '../../lib/embedded/embedded-server.js';
import { openEmbedded } from '../../lib/embedded/open-embedded.js';
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
