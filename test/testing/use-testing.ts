import { afterAll, afterEach, beforeEach, expect } from '@jest/globals';
import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { getGearMonkeyClientToken, type GearMonkeyClient } from 'nestjs-gearmonkey';
import {
  GearMonkeyTestClient,
  GearMonkeyTestingModule,
  testJobsOf,
  type TestJobs,
  type TestingModuleOptions,
} from 'nestjs-gearmonkey/testing';
import { furtherInFullTier } from '../support/tier.js';
import { eventually } from '../support/until.js';
import { useRedis, type UsedRedis } from '../support/use-redis.js';

const MEMORY_AND_REDIS = ['memory', 'Redis'] as const;
type TestServer = (typeof MEMORY_AND_REDIS)[number];
/** Where the jobs of a test may be. Both run the same scripts: `npm test` has few suites on both. */
export const SERVERS: readonly TestServer[] = furtherInFullTier(['memory'], ['Redis']);
export { MEMORY_AND_REDIS };

export interface UsedTesting {
  /** A module with these providers and instances, initialised. */
  start(metadata: ModuleMetadata, options?: TestingModuleOptions): Promise<TestingModule>;
  /** The same, and its client. */
  jobs(metadata: ModuleMetadata, options?: TestingModuleOptions): Promise<GearMonkeyTestClient>;
  /** Those of an instance of what was started last. */
  jobsOf(instance: string): TestJobs;
  /** The client of an instance of what was started last. */
  clientOf(instance: string): GearMonkeyClient;
  /** Closed after the test. */
  closing<T extends INestApplicationContext>(app: T): T;
}

/** Apps under test of a `describe`, closed after each of its tests, after which nothing is left of their jobs. */
export function useTesting(server: TestServer = 'memory'): UsedTesting {
  let apps: INestApplicationContext[] = [];
  const redis = server === 'Redis' ? useRedis() : undefined;

  beforeEach(() => {
    if (redis) process.env['GEARMONKEY_TEST_REDIS'] = redis.url;
  });
  afterEach(async () => {
    await Promise.all(apps.map((app) => app.close()));
    apps = [];
    if (!redis) return;
    await expect(redis.redis.keys('*')).resolves.toEqual([]);
    await eventually(async () => expect(await clientsOf(redis)).toBe(1));
  });
  afterAll(() => void delete process.env['GEARMONKEY_TEST_REDIS']);

  const closing = <T extends INestApplicationContext>(app: T): T => {
    apps.push(app);
    return app;
  };

  const start = async (metadata: ModuleMetadata, options?: TestingModuleOptions) => {
    const imports = [GearMonkeyTestingModule.forRoot(options), ...(metadata.imports ?? [])];
    const module = await Test.createTestingModule({ ...metadata, imports }).compile();
    module.useLogger(false);
    return closing(await module.init());
  };

  return {
    start,
    closing,
    jobs: async (...args) => (await start(...args)).get(GearMonkeyTestClient),
    clientOf: (instance) =>
      (apps.at(-1) as INestApplicationContext).get(getGearMonkeyClientToken(instance), { strict: false }),
    jobsOf: (instance) => testJobsOf(apps.at(-1) as INestApplicationContext, instance),
  };
}

async function clientsOf({ redis }: UsedRedis): Promise<number> {
  return String(await redis.client('LIST'))
    .trim()
    .split('\n').length;
}
