import { beforeEach, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient } from '../../../lib/gearmonkey/client.js';
import type { EmbeddedServer } from '../../../lib/embedded/embedded-server.js';
import { embeddedServer, openEmbedded } from '../../../lib/embedded/open-embedded.js';
import { eventually } from '../../support/until.js';

describe('A watch of a paused function', () => {
  let server: EmbeddedServer;
  let client: GearMonkeyClient;
  let seen: (boolean | string)[];

  beforeEach(() => {
    server = embeddedServer('memory:');
    client = new GearMonkeyClient(openEmbedded(server).store);
    seen = [];
  });

  const watch = () =>
    client.watchPaused('fn').subscribe({
      next: (paused) => seen.push(paused),
      complete: () => seen.push('completed'),
      error: ({ message }: Error) => seen.push(message),
    });

  it('emits how it is at first, and each change once', async () => {
    await client.pause('fn');
    watch();
    await eventually(() => expect(seen).toEqual([true]));
    await client.pause('fn');
    await client.resume('fn');
    await eventually(() => expect(seen).toEqual([true, false]));
  });

  it('completes when observers are ended, and one that comes later at once', async () => {
    watch();
    await eventually(() => expect(seen).toEqual([false]));
    client.endObservers();
    expect(seen).toEqual([false, 'completed']);
    watch();
    expect(seen).toEqual([false, 'completed', 'completed']);
  });

  it('stops to listen when it is unsubscribed', async () => {
    const listeners = () => server.run('PUBSUB', ['NUMSUB', 'control:fn']);
    const subscription = watch();
    await eventually(() => expect(listeners()).toEqual(['control:fn', 1]));
    subscription.unsubscribe();
    await eventually(() => expect(listeners()).toEqual(['control:fn', 0]));
  });
});
