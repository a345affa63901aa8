import { describe, expect, it } from '@jest/globals';
import { EmbeddedClient } from '../../lib/embedded/embedded-client.js';
import { EmbeddedServer } from '../../lib/embedded/embedded-server.js';
import { systemClock } from '../../lib/job/clock.js';

interface Commands {
  get(key: string): Promise<string | null>;
  lpush(key: string, ...items: string[]): Promise<number>;
  set(key: string, value: string): Promise<string>;
  eval(script: string, keys: number): Promise<unknown>;
}

/** A connection to a server, with the commands that it has as methods. */
function connect(server: EmbeddedServer): EmbeddedClient & Commands {
  return new EmbeddedClient(server) as EmbeddedClient & Commands;
}

describe('a connection that waits for an item of a list', () => {
  it('runs nothing of what is behind, once it is closed', async () => {
    const server = new EmbeddedServer(systemClock);
    const [waiting, other] = [connect(server), connect(server)];
    const popped = waiting.blpop('list', 0);
    const behind = waiting.set('key', 'written');
    waiting.disconnect();
    await expect(behind).rejects.toThrow('Connection is closed.');
    await expect(popped).resolves.toBeNull();
    await expect(other.get('key')).resolves.toBeNull();
  });

  it('gets that of its second list, if others have emptied the first', async () => {
    const server = new EmbeddedServer(systemClock);
    const [first, second, other] = [connect(server), connect(server), connect(server)];
    const popped = [first.blpop('a', 0), second.blpop('a', 'b', 0)];
    await other.eval("redis.call('LPUSH', 'a', '1') redis.call('LPUSH', 'b', '2')", 0);
    await expect(Promise.all(popped)).resolves.toEqual([
      ['a', '1'],
      ['b', '2'],
    ]);
  });
});
