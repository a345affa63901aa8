import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  ConfigurationError,
  CurrentJob,
  GearMonkeyClient,
  GearMonkeyModule,
  GearMonkeyWorkers,
  InvalidOptionError,
  RunningJob,
  Worker,
  type GearMonkeyModuleOptions,
  type JobMiddleware,
} from 'nestjs-gearmonkey';
import { qless } from '../../lib/qless/index.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

const tenants = new AsyncLocalStorage<string>();

@Injectable()
class Handlers {
  constructor(private readonly jobs: GearMonkeyClient) {}

  @Worker('outer')
  outer() {
    return this.jobs.call('inner', null, { timeout: '10s' });
  }
  @Worker('inner')
  inner(@CurrentJob() { headers }: RunningJob) {
    return [tenants.getStore(), headers.tenant];
  }
}

const inTenant: JobMiddleware = {
  aroundRun: ({ headers }, next) => tenants.run(headers['tenant'] ?? '', next),
};

describe('headers of a module', () => {
  const redis = useRedis();
  const apps = useApps();
  const options = (connection: string) => ({
    connection,
    headers: () => ({ tenant: tenants.getStore() }),
    middleware: [inTenant],
  });
  const start = (given: GearMonkeyModuleOptions) =>
    apps.start({ imports: [GearMonkeyModule.forRoot(given)], providers: [Handlers] });

  it.each([
    ['memory', () => 'memory:'],
    ['Redis', () => redis.url],
  ])('carry a context from job to job by themselves: %s', async (_, url) => {
    const app = await start(options(url()));
    const jobs = app.get(GearMonkeyClient);
    const called = tenants.run('acme', () => jobs.call('outer', null, { timeout: '10s' }));
    await expect(called).resolves.toEqual(['acme', 'acme']);
  });

  it('hold for handlers that are added at run time', async () => {
    const app = await start(options('memory:'));
    await app.get(GearMonkeyWorkers).add('late', () => tenants.getStore());
    const jobs = app.get(GearMonkeyClient);
    await expect(tenants.run('acme', () => jobs.call('late', null, { timeout: '10s' }))).resolves.toBe(
      'acme',
    );
  });

  it('are refused if they are no function', async () => {
    const given = {
      connection: 'memory:',
      headers: { tenant: 'acme' },
    } as unknown as GearMonkeyModuleOptions;
    await expect(start(given)).rejects.toMatchObject({ name: InvalidOptionError.name, option: 'headers' });
  });

  it('are refused where no client could send them', async () => {
    const source = qless({ connection: redis.url, queues: ['mail'] });
    const given = { source, headers: () => ({}) } as unknown as GearMonkeyModuleOptions;
    await expect(start(given)).rejects.toThrow(ConfigurationError);
    await source.close();
  });
});
