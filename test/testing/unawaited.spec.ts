import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, GearMonkeyWorkers, Worker } from 'nestjs-gearmonkey';
import { SERVERS, useTesting } from './use-testing.js';

@Injectable()
class Handlers {
  constructor(private readonly jobs: GearMonkeyClient) {}

  @Worker('starts')
  starts() {
    void this.jobs.flow({ job: 'part', input: 'root', children: [{ job: 'part', input: 'child' }] });
  }

  @Worker('part')
  part() {}
}

describe.each(SERVERS)('A test with jobs in %s', (server) => {
  const testing = useTesting(server);

  it('drains a flow that a handler has enqueued without waiting for it', async () => {
    const jobs = await testing.jobs({ providers: [Handlers] });
    await jobs.run('starts', null);
    await expect(jobs.test.drain({ recursive: true })).resolves.toMatchObject({ done: 3 });
  });

  it('counts no workers of a function whose handler was stopped', async () => {
    const app = await testing.start({ providers: [] });
    const { stop } = await app.get(GearMonkeyWorkers).add('added', () => undefined);
    await stop();
    const asked = app.get(GearMonkeyClient).run('added', null, { rollCall: true });
    await expect(asked).rejects.toMatchObject({ code: 'NO_WORKERS' });
  });
});
