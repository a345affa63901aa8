/** @isolated The lines of an app would name the decorated classes of suites before it. */
import { describe, expect, it } from '@jest/globals';
import { Injectable, type LoggerService, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cluster, Redis } from 'ioredis';
import { Module } from '@nestjs/common';
import { GearMonkeyModule, Worker, type JobSource } from 'nestjs-gearmonkey';
import { jobd } from '../../lib/jobd/index.js';
import { jq } from '../../lib/jq/index.js';
import { qless } from '../../lib/qless/index.js';
import { SECRET } from '../support/hostile-values.js';

const password = SECRET;
const lazyConnect = true;

/** What an app says of itself at its start: each line, and its fields as JSON. */
async function saidAtStart(
  instances: readonly object[],
  providers: readonly Type[] = [],
): Promise<{ line: string; fields: object }[]> {
  const said: { line: string; fields: object }[] = [];
  const keep = (entry: unknown, context?: string) => {
    if (context === 'GearMonkey') said.push({ line: String(entry), fields: { ...(entry as object) } });
  };
  const logger: LoggerService = { log: keep, warn: keep, error: keep };
  @Module({
    imports: instances.map((options) => GearMonkeyModule.forRoot(options as { connection: 'memory:' })),
    providers: [...providers],
  })
  class App {}
  const app = await NestFactory.createApplicationContext(App, { logger, abortOnError: false });
  await app.close();
  return said;
}

const url = `redis://app:${SECRET}@10.0.0.7:6380/2`;

/** Wherever a password may stand in what an app connects with. */
const CONNECTIONS: readonly (readonly [what: string, options: () => object, server: string])[] = [
  ['a URL', () => ({ connection: url }), '10.0.0.7:6380'],
  ['a URL without a user', () => ({ connection: `rediss://:${SECRET}@redis.example` }), 'redis.example:6379'],
  [
    'a password with odd characters',
    () => ({ connection: `redis://app:p@${SECRET}@10.0.0.7` }),
    '10.0.0.7:6379',
  ],
  ['a query of a URL', () => ({ connection: `redis://10.0.0.7?password=${SECRET}` }), '10.0.0.7:6379'],
  ['a socket', () => ({ connection: { path: '/run/redis.sock', password } }), '/run/redis.sock'],
  ['options', () => ({ connection: { host: '10.0.0.7', username: 'app', password } }), '10.0.0.7:6379'],
  ['a host that is a URL', () => ({ connection: { host: url, port: 1 } }), '10.0.0.7:6380:1'],
  ['a host with a user', () => ({ connection: { host: `app:${SECRET}@10.0.0.7` } }), '10.0.0.7:6379'],
  [
    'Sentinel',
    () => ({
      connection: {
        sentinels: [
          { host: 's1', port: 26_379 },
          { host: `redis://:${SECRET}@s2`, port: 1 },
        ],
        name: 'main',
        password,
        sentinelPassword: password,
      },
    }),
    '"main" of the sentinels s1:26379, s2:1',
  ],
  [
    'a cluster',
    () => ({
      connection: {
        nodes: [url, `app:${SECRET}@10.0.0.8:1`, { host: `:${SECRET}@10.0.0.9`, port: 2, password }],
        redisOptions: { password },
      },
      hashTag: true,
    }),
    'the cluster of 10.0.0.7:6380, 10.0.0.8:1, 10.0.0.9:2',
  ],
  ['a client', () => ({ connection: new Redis(url, { lazyConnect }) }), '10.0.0.7:6380'],
  [
    "a cluster's client",
    () => ({ connection: new Cluster([url], { lazyConnect, redisOptions: { password } }), hashTag: true }),
    'the cluster of 10.0.0.7:6380',
  ],
  ['qless', () => ({ source: qless({ connection: url, queues: ['q'] }) }), '10.0.0.7:6380'],
  ['JQ', () => ({ source: jq({ master: 'http://10.0.0.7:1/jq', token: SECRET }) }), 'http://10.0.0.7:1/jq'],
  [
    'jobd',
    () => ({ source: jobd({ database: `mysql://app:${SECRET}@10.0.0.7/shop`, targets: ['low'] }) }),
    'mysql://10.0.0.7:3306/shop',
  ],
  ['nothing', () => ({ connection: 'memory:' }), 'memory:'],
];

/** Made by the tests that use it: other apps would warn that they don't have it. */
function handlers() {
  @Injectable()
  class Handlers {
    @Worker('mail', { concurrency: 5 })
    mail() {}
    @Worker('resize')
    resize() {}
    @Worker('report', { instance: 'reports' })
    report() {}
  }
  return Handlers;
}

describe('The line of the start', () => {
  it.each(CONNECTIONS)('says where %s leads, and no secret', async (_, options, server) => {
    const [said, ...more] = await saidAtStart([options()]);
    expect(said).toEqual({
      line: `"default" at ${server} runs no jobs here`,
      fields: { instance: 'default', server, functions: [] },
    });
    expect(more).toEqual([]);
  });

  it('is one for each instance, with what it runs and how much of it at a time', async () => {
    const instances = [
      { connection: 'memory:' },
      { connection: 'memory:', name: 'reports' },
      { connection: url, name: 'api' },
    ];
    const said = await saidAtStart(instances, [handlers()]);
    expect(said.map(({ line }) => line)).toEqual([
      '"default" at memory: runs mail (5 at a time), resize (1 at a time)',
      '"reports" at memory: runs report (1 at a time)',
      '"api" at 10.0.0.7:6380 runs no jobs here',
    ]);
    expect(said[0]?.fields).toEqual({
      instance: 'default',
      server: 'memory:',
      functions: [
        { fn: 'mail', concurrency: 5 },
        { fn: 'resize', concurrency: 1 },
      ],
    });
  });

  it('is short and one line, whatever the names are', async () => {
    const source: Partial<JobSource> = {
      address: `redis://app:${SECRET}@\nforged\u001b[2J${'x'.repeat(999)}`,
    };
    const methods = ['open', 'claim', 'renew', 'progress', 'settle', 'close'];
    const idle = Object.fromEntries(methods.map((name) => [name, () => Promise.resolve([])]));
    const [said] = await saidAtStart([{ source: { capabilities: {}, ...idle, ...source } }]);
    expect(said?.line).toMatch(
      /^"default" at redis:\/\/\*\*\*@\\nforged\\u001b\[2Jx{100,200}… runs no jobs here$/,
    );
  });
});
