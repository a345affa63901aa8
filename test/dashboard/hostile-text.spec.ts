import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, GearMonkeyModule, UnrecoverableError, Worker } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { ANY_PLATFORM, useServedApps } from './dashboard-app.js';
import { ask } from './http.js';

const TEXTS = [
  '<img src=x onerror=alert(1)>',
  '"\r\nset-cookie: a=b\r\n\r\n',
  '\u0000\u0007\u001b[31m\u2028\u202e',
  'x'.repeat(5000),
  '\ud800 alone \udfff',
];
const ROUTES = [
  'jobs',
  'find',
  'job',
  'flow',
  'payload',
  'raw',
  'stream',
  'failures',
  'limits',
  'schedules',
  'workers',
];
const OTHERS = ['rights', 'statistics', 'overview', 'native', 'bulk', 'live', 'session'];

@Injectable()
class Handlers {
  @Worker('bad', { retry: { attempts: 1 } })
  bad(input: string) {
    throw new UnrecoverableError(input);
  }
}

describe.each(ANY_PLATFORM)('hostile text on %s', (platform) => {
  const redis = useRedis();
  const apps = useServedApps();
  const serve = () =>
    apps.serve(platform, {
      imports: [GearMonkeyModule.forRoot({ connection: redis.url }), DashboardModule.forRoot()],
      providers: [Handlers],
    });

  async function check(base: string, path: string): Promise<void> {
    const { status, headers, text } = await ask(base, path);
    expect([path, status < 500]).toEqual([path, true]);
    expect(headers).not.toHaveProperty('set-cookie');
    expect(headers['x-content-type-options']).toBe('nosniff');
    const type = headers['content-type'] ?? '';
    expect(type).toMatch(/^application\/(?:json|octet-stream)/);
    if (type.includes('json')) expect(() => JSON.parse(text) as unknown).not.toThrow();
  }

  it('in a query is never an error of the server, and in no header', async () => {
    const { base } = await serve();
    const needsId = new Set(['job', 'flow', 'payload', 'raw', 'stream']);
    for (const text of TEXTS)
      for (const route of [...ROUTES, ...OTHERS])
        for (const name of [
          'i',
          'fn',
          'id',
          'tag',
          'key',
          'page',
          'view',
          'part',
          'kind',
          'by',
          'from',
          'topics',
        ]) {
          // Without wrong topics it would stream.
          if (route === 'live' && name !== 'topics') continue;
          const known = {
            fn: 'bad',
            state: 'failed',
            ...(needsId.has(route) && { id: '1', part: 'input', kind: 'log' }),
          };
          await check(base, `/api/${route}?${new URLSearchParams({ ...known, [name]: text })}`);
        }
  });

  it('in jobs is shown as JSON', async () => {
    const { app, base } = await serve();
    const client = app.get(GearMonkeyClient);
    for (const text of TEXTS) {
      const { id } = await client.run('bad', text);
      await until(async () => (await client.get('bad', id))?.state === 'failed');
      for (const part of ['input', 'output']) {
        await check(base, `/api/payload?fn=bad&id=${id}&part=${part}`);
        await check(base, `/api/raw?fn=bad&id=${id}&part=${part}`);
      }
      await check(base, `/api/job?fn=bad&id=${id}`);
    }
    for (const path of ['jobs?fn=bad&state=failed', 'failures?fn=bad', 'overview', 'workers'])
      await check(base, `/api/${path}`);
  });

  it('in the fields of a job that another program wrote is shown as JSON', async () => {
    const { app, base } = await serve();
    const { id } = await app.get(GearMonkeyClient).run('idle', 1, { tags: ['a'] });
    const [key = ''] = await redis.redis.keys(`*idle*:${id}`);
    expect(await redis.redis.hget(key, 'status')).toBe('idle');
    for (const field of [
      'input',
      'tags',
      'options',
      'key',
      'created',
      'attempts',
      'error',
      'status',
      'flow',
      'after',
      '<b>',
    ])
      for (const text of TEXTS) {
        const before = await redis.redis.hget(key, field);
        await redis.redis.hset(key, field, text);
        for (const path of ['job?id=1&', 'flow?id=1&', 'find?tag=a&', 'find?id=1&', 'jobs?state=waiting&'])
          await check(base, `/api/${path.replace('id=1', `id=${id}`)}fn=idle`);
        if (before === null) await redis.redis.hdel(key, field);
        else await redis.redis.hset(key, field, before);
      }
  });
});
