import { beforeEach, describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Validator } from '@seriousme/openapi-schema-validator';
import { freePort } from '../../support/free-port.js';
import { MasterModule } from '../../../lib/jq/master/master.module.js';
import { messageAdapter } from '../../../lib/jq/master/message.adapter.js';
import { CONTRACT_ROUTES } from '../../../lib/jq/master/openapi/contract-routes.js';
import { API_ROUTES, OPERATION_ROUTES } from '../../../lib/jq/master/openapi/api-routes.js';
import type { Route } from '../../../lib/jq/master/openapi/route.js';
import { eventually } from '../../support/until.js';
import type { Call, Http } from './http.js';
import { plainWorker } from './plain-worker.js';
import { OPEN_API, useMaster } from './use-master.js';

const ROUTES = [...CONTRACT_ROUTES, ...API_ROUTES, ...OPERATION_ROUTES];
const NO_JOB = '000000000fff-00000000';
const NO_WORKER = 'f'.repeat(16);
const CONSTRAINT = { match: [{ field: 'name', equal: 'limited' }], rate: { count: 1, period: 60 } };
const BODIES: Readonly<Record<string, object>> = {
  Enqueue: { name: 'mail', argument: {} },
  Register: { name: 'w', max_jobs: 1 },
  HandOut: { job_id: NO_JOB, attempt: 1 },
  Reports: { job_id: NO_JOB, type: 'success' },
  ConstraintRequest: CONSTRAINT,
};

describe('the OpenAPI document', () => {
  const master = useMaster({ maxBodyBytes: 10_000, backoff: 60_000 });
  beforeEach(() => master.redis.redis.flushall());

  it('is OpenAPI 3', async () => {
    const document = structuredClone(OPEN_API.document) as unknown as Record<string, unknown>;
    const { valid, errors } = await new Validator().validate(document);
    expect([valid, errors]).toEqual([true, undefined]);
  });

  it('has the routes that the master has, and no others', async () => {
    const app = await NestFactory.create(
      MasterModule.forRoot({ connection: master.redis.url }),
      await messageAdapter(),
      { logger: false },
    );
    const { paths } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    await app.close();
    const routes = (of: object) =>
      Object.entries(of).flatMap(([path, operations]) =>
        Object.keys(operations as object).map((method) => `${method} ${path}`),
      );
    expect(routes(paths).sort()).toEqual(routes(OPEN_API.document.paths).sort());
  });

  it('is served, with a page that shows it', async () => {
    const { bytes } = await master.call('GET', '/openapi.json');
    expect(JSON.parse(bytes.toString())).toEqual(JSON.parse(JSON.stringify(OPEN_API.document)));
    const page = await fetch(`${master.url}/docs`);
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ]);
    const html = await page.text();
    expect(html).toContain('<title>JQ master</title>');
    const assets = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(
      ([, path = '']) => new URL(path, page.url),
    );
    expect(assets.length).toBeGreaterThan(3);
    for (const asset of assets) {
      expect(asset.origin).toBe(master.url);
      expect((await fetch(asset)).status).toBe(200);
    }
    const script = await fetch(`${master.url}/docs/swagger-ui-init.js`);
    await expect(script.text()).resolves.toContain('/job/{id}/polling');
    const bare = await master.another({ docs: false });
    await expect(bare.call('GET', '/docs')).resolves.toMatchObject({ status: 404 });
  });

  it('says what the master asks of a worker with a URL', async () => {
    const document = JSON.stringify(OPEN_API.document.paths['/worker']?.['post']?.callbacks);
    expect(document).toContain('{$request.body#/url}/worker-job');
    const worker = await plainWorker();
    await master.register({ url: worker.url });
    await master.enqueue({ name: 'mail', argument: { to: ['a'] } });
    await eventually(() => expect(worker.pushes).toHaveLength(1));
    OPEN_API.checkPush(worker.pushes[0]?.bytes ?? Buffer.of(0xc0));
    expect(() => OPEN_API.checkPush(Buffer.from(encode({ id: 'x' })))).toThrow('not as the document says');
    await worker.close();
  });

  it('says of every reply what it is like: each is called up, in both media types', async () => {
    OPEN_API.seen.clear();
    const token = (text: string) => ({ authorization: `Bearer ${text}` });
    const guarded = await master.another({ tokens: { pusher: ['p'], worker: ['w'] } });
    const cutOff = await master.another({ connection: `redis://127.0.0.1:${await freePort()}` });
    const narrow = await master.another({
      maxQueued: 1,
      maxWorkers: 0,
      maxConstraints: 0,
      maxPollsPerClient: 0,
    });
    const closed = await master.another({ callbacks: { allow: [] }, metrics: false });

    for (const accept of ['application/msgpack', 'application/json']) {
      const media = { accept };
      await master.redis.redis.flushall();
      for (const route of ROUTES.filter(({ role }) => role !== undefined)) {
        await request(guarded, route, { headers: media });
        const other = route.role === 'pusher' ? 'w' : 'p';
        await request(guarded, route, { headers: { ...media, ...token(other) } });
      }
      await Promise.all(
        ROUTES.filter(({ wantsRedis = true }) => wantsRedis).map((route) =>
          request(cutOff, route, { headers: media }),
        ),
      );
      for (const route of ROUTES.filter(({ body }) => body !== undefined)) {
        const headers = { ...media, 'content-type': 'application/msgpack' };
        await request(master, route, { headers, body: Buffer.of(0xc1) });
        await request(master, route, { headers, body: Buffer.alloc(10_001) });
        await request(master, route, { headers: { ...media, 'content-type': 'text/plain' } });
      }
      await callUpTheRest(master, narrow, closed, media);
    }
    const unseen = OPEN_API.declared.filter((what) => !OPEN_API.seen.has(what));
    expect(unseen).toEqual([]);
  });
});

/** A request of the route that is in order, unless the call says otherwise. */
function request(http: Http, { method, path, body }: Route, call: Call = {}) {
  const sent = body === undefined ? {} : { body: encode(BODIES[body]) };
  const url = path.replace('{id}', path.includes('workers') ? NO_WORKER : NO_JOB);
  const query = path.endsWith('/polling') || path.endsWith('/pull') ? '?timeout=0' : '';
  return http.call(method.toUpperCase(), url + query, { worker: NO_WORKER, ...sent, ...call });
}

/** What wants a state of its own. */
async function callUpTheRest(
  master: Http,
  narrow: Http,
  closed: Http,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const get = (path: string, http = master) => http.call('GET', path, { headers });
  const remove = (path: string) => master.call('DELETE', path, { headers });
  const send = (path: string, body: object, { http = master, key = '' } = {}) =>
    http.post(path, body, { headers: { ...headers, ...(key === '' ? {} : { 'idempotency-key': key }) } });
  const post = (path: string, http = master) => http.call('POST', path, { headers });
  const as = (worker: string | undefined) => ({ worker, headers });
  const job = { name: 'mail', argument: { a: 1 }, keep_result: true };

  for (const route of ROUTES) await request(master, route, { headers });
  for (const path of ['/health/live', '/health/ready', '/metrics', '/openapi.json']) await get(path);
  for (const path of ['/metrics']) await get(path, closed);
  await send('/worker', { name: 'w', max_jobs: 1, url: 'http://127.0.0.1:1' }, { http: closed });

  // Jobs and workers
  await send('/job', job, { key: 'k' });
  await send('/job', { ...job, priority: 1 }, { key: 'k' });
  await master.call('DELETE', `/job/${await master.enqueue()}`, { headers });
  const worker = await master.register({ max_jobs: 100 });
  const pull = async () => {
    const { body } = await master.pull(worker);
    return (body as { id: string }).id;
  };
  await send('/worker', { name: 'w', max_jobs: 1, batch: 10 });
  const report = (id: string, body: object) => master.post('/done', { job_id: id, ...body }, as(worker));
  const failure = { type: 'failure', reason: 'other', message: 'boom', error: [1] };
  for (const path of ['/worker', '/worker/ping', '/worker/pull']) {
    await master.call(path === '/worker' ? 'DELETE' : 'POST', path, as(undefined));
  }
  await master.call('POST', '/worker/ping', as(worker));
  while ((await master.call('POST', '/worker/pull?timeout=0', as(worker))).status === 200);
  const running = await master.enqueue(job);
  await pull();
  await get(`/job/${running}/polling?timeout=x`);
  await get(`/job/${running}/polling?timeout=0`);
  for (const path of [`/job/${running}`, `/api/jobs/${running}`, `/api/jobs`]) await get(path);
  for (const path of ['job', 'api/jobs', 'api/dead-letters']) await remove(`/${path}/${running}`);
  await post(`/api/jobs/${running}/retry`);
  await post(`/api/dead-letters/${running}/requeue`);
  await report(running, { type: 'success', result: 1 });
  const unread = { job_id: 7, type: 'success' };
  await master.post('/done', [{ job_id: running, type: 'success', result: 1 }, unread], as(worker));
  await master.post('/done', [{ job_id: NO_JOB, type: 'success' }], as(NO_WORKER));
  const given = await master.enqueue(job);
  while ((await pull()) !== given);
  for (const path of ['confirm', 'release']) {
    await master.post(`/worker/${path}`, { job_id: given, attempt: 1 }, as(worker));
  }
  await remove(`/job/${given}`);
  await report(running, { ...failure, should_retry: false });
  await get(`/job/${running}/polling`);
  await get(`/api/jobs/${running}`);

  // Dead letters
  const die = async () => {
    const id = await master.enqueue(job);
    while ((await pull()) !== id);
    await report(id, { ...failure, should_retry: false });
    return id;
  };
  const dead = await die();
  for (const path of ['/job/', '/api/jobs/']) await get(path + dead);
  await get('/api/dead-letters');
  await post(`/api/dead-letters/${dead}/requeue`);
  await pull();
  await report(dead, { ...failure, should_retry: true });
  await get(`/api/jobs/${dead}`);
  await post(`/api/jobs/${dead}/retry`);
  await remove(`/api/jobs/${dead}`);
  await remove(`/api/dead-letters/${await die()}`);
  await die();
  await post('/api/dead-letters/requeue');
  await remove('/api/dead-letters');
  for (const path of ['/api/jobs', '/api/dead-letters', '/api/workers', '/api/names'])
    await get(`${path}?limit=0`);
  await post('/api/dead-letters/requeue?limit=0');
  await remove('/api/dead-letters?limit=0');
  for (const path of ['/api/workers', `/api/workers/${worker}`, '/api/counts', '/api/names']) await get(path);
  await remove(`/api/workers/${await master.register()}`);

  // Constraints
  const { body } = await master.post('/constraints', CONSTRAINT);
  const { id } = body as { id: string };
  await send('/constraints', CONSTRAINT);
  await get('/constraints');
  await get(`/constraints/${id}`);
  await master.call('PUT', `/constraints/${id}`, { headers, body: encode(CONSTRAINT) });
  await remove(`/constraints/${id}`);

  // Too many
  const late = await die();
  for (let i = 0; i < 2; i++) await send('/job', job, { http: narrow });
  await send('/worker', { name: 'w', max_jobs: 1 }, { http: narrow });
  await send('/constraints', CONSTRAINT, { http: narrow });
  await get(`/job/${late}/polling`, narrow);
  await narrow.call('POST', '/worker/pull', as(worker));
  for (const path of [
    `api/jobs/${late}/retry`,
    `api/dead-letters/${late}/requeue`,
    'api/dead-letters/requeue',
  ]) {
    await post(`/${path}`, narrow);
  }
  await master.call('DELETE', '/worker', as(worker));
}
