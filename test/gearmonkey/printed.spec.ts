import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { JqClient } from '../../lib/jq/index.js';
import { QlessClient } from '../../lib/qless/index.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { useRedisServer } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

const PASSWORD = 'S3cret-of-the-connection';
const INPUT = { card: '4111-1111' };

describe('Logs and JSON', () => {
  const server = useRedisServer();
  let actors: RedisActors;
  stopWorkersAfterEach();

  beforeAll(async () => {
    await server.redis.call('ACL', 'SETUSER', 'app', 'on', `>${PASSWORD}`, '~*', '&*', '+@all');
    actors = new RedisActors(server.url.replace('redis://', `redis://app:${PASSWORD}@`));
  });
  afterAll(() => actors.close());

  const printed = (value: unknown) => [
    JSON.stringify(value),
    inspect(value, { depth: 20, showHidden: true }),
    inspect(value, { depth: 20 }),
    JSON.stringify({ ...(value as object) }),
  ];

  it('show function and id of a handle', async () => {
    const fn = server.fn();
    const job = await actors.client().run(fn, INPUT);
    expect(JSON.parse(JSON.stringify(job))).toEqual({ fn, id: '1' });
    expect(inspect(job)).toBe(`JobHandle { fn: '${fn}', id: '1' }`);
    expect(printed(job).join()).not.toContain(PASSWORD);
  });

  it('show the server of a client', async () => {
    const client = actors.client();
    await client.run(server.fn(), INPUT);
    expect(JSON.stringify(client)).toBe(JSON.stringify({ server: new URL(server.url).host }));
    expect(printed(client).join()).not.toContain(PASSWORD);
    expect(printed(client.only([])).join()).not.toContain(PASSWORD);
  });

  it('show no password of qless clients, queues and jobs', async () => {
    const client = new QlessClient({
      connection: server.url.replace('redis://', `redis://app:${PASSWORD}@`),
    });
    const queue = client.queue('q');
    await queue.put('Klass', INPUT);
    const [job] = await queue.pop();
    expect([client, client.jobs, client.events, queue, job].flatMap(printed).join()).not.toContain(PASSWORD);
    client.close();
  });

  it('show no token of a JQ client', async () => {
    const client = new JqClient({ master: 'http://127.0.0.1:1', token: PASSWORD });
    expect(printed(client).join()).not.toContain(PASSWORD);
    await client.close();
  });

  it('show function, id and attempt of a running job, without its input', async () => {
    const fn = server.fn();
    await runWorker(actors.source(), fn, (_, job) => [JSON.stringify(job), inspect(job)]);
    await expect(actors.client().call(fn, INPUT, { timeout: '20s' })).resolves.toEqual([
      JSON.stringify({ fn, id: '1', attempts: 1 }),
      `RunningJob { fn: '${fn}', id: '1', attempts: 1 }`,
    ]);
  });
});
