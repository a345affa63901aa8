import { describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import {
  defineJob,
  GearMonkeyClient,
  GearMonkeyModule,
  GearMonkeyWorkers,
  type Codec,
} from 'nestjs-gearmonkey';
import { DashboardModule, type DashboardModuleOptions } from 'nestjs-gearmonkey/dashboard';
import type { FailuresView, JobsView, JobView, LiveEvents, PayloadView } from '../../lib/dashboard/api.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { ask, json, listen } from './http.js';

const SECRET = 'tomato';
/** As they stand in a text: also what base64 makes of the secret, wherever it begins. */
const FORMS = [SECRET, ...[0, 1, 2].map((before) => base64Behind(before))];

function base64Behind(before: number): string {
  const text = Buffer.from(' '.repeat(before) + SECRET + '  ').toString('base64');
  return text.slice(Math.ceil((before * 4) / 3), -4).replace(/^=+|=+$/g, '');
}

describe('a dashboard with `redact`', () => {
  const redis = useRedis();
  const apps = useServedApps();

  async function serve(
    options: DashboardModuleOptions = { redact: ({ text }) => text.replaceAll(SECRET, '***') },
    jobs: { codec?: 'msgpack' | Codec } = {},
  ) {
    const { app, base } = await apps.serve('express', {
      imports: [
        GearMonkeyModule.forRoot({ connection: redis.url, ...jobs }),
        DashboardModule.forRoot(options),
      ],
    });
    return { base, client: app.get(GearMonkeyClient), workers: app.get(GearMonkeyWorkers) };
  }

  /** The texts of what is read of a job. */
  const pagesOf = (base: string, fn: string, id: string) =>
    textsOf(base, [
      ...[`job?fn=${fn}&id=${id}`, `find?fn=${fn}&id=${id}`, `flow?fn=${fn}&id=${id}`],
      ...['input', 'output'].map((part) => `payload?fn=${fn}&id=${id}&part=${part}`),
      ...['input', 'output'].map((part) => `raw?fn=${fn}&id=${id}&part=${part}`),
    ]);

  /** The texts of all views, of one job and of its function. */
  async function viewsOf(base: string, fn: string, id: string): Promise<Record<string, string>> {
    const of = `fn=${fn}`;
    const routes = [
      `failures?${of}`,
      ...['output', 'log'].map((kind) => `stream?${of}&id=${id}&kind=${kind}`),
      ...['waiting', 'scheduled', 'retrying', 'running', 'succeeded', 'failed', 'cancelled'].map(
        (state) => `jobs?${of}&state=${state}`,
      ),
      ...[`workers?${of}`, `limits?${of}`, `statistics?${of}`, `schedules?${of}`, 'overview'],
    ];
    return { ...(await pagesOf(base, fn, id)), ...(await textsOf(base, routes)) };
  }

  async function textsOf(base: string, routes: readonly string[]): Promise<Record<string, string>> {
    const texts = await Promise.all(
      routes.map(async (route) => [route, (await ask(base, `/api/${route}`)).text] as const),
    );
    return Object.fromEntries(texts);
  }

  const leaks = (views: Record<string, string>) =>
    Object.entries(views).filter(([, text]) => FORMS.some((form) => text.includes(form)));

  it('shows no secret of a job, wherever its handler and its client have put it', async () => {
    const { base, client, workers } = await serve();
    const fn = redis.fn();
    await workers.add(
      fn,
      async (_input, job) => {
        await job.step(`${SECRET} step`, () => SECRET);
        await job.log(SECRET);
        await job.chunk({ text: SECRET });
        throw Object.assign(
          new TypeError(SECRET, { cause: Object.assign(new Error(SECRET), { code: SECRET }) }),
          {
            name: `${SECRET}Error`,
            code: `E_${SECRET}`,
          },
        );
      },
      { retry: { attempts: 1 } },
    );
    const { id } = await client.run(
      fn,
      { text: SECRET },
      { headers: { [`x-${SECRET}`]: SECRET }, unique: { key: `${SECRET} key` } },
    );
    await redis.redis.hset(`job:${fn}:${id}`, `${SECRET} field`, SECRET);
    await eventually(async () => expect((await client.get(fn, id))?.state).toBe('failed'));
    const views = await viewsOf(base, fn, id);
    expect(leaks(views)).toEqual([]);
    const job = await json<JobView>(base, `/api/job?fn=${fn}&id=${id}`);
    expect(job).toMatchObject({
      error: { name: '***Error', code: 'E_***', message: '***', cause: { code: '***' } },
      ...{ headers: { 'x-***': '***' }, more: { '*** field': '***' } },
      steps: [{ name: '*** step' }],
    });
    const live = listen(base, [
      { job: id, fn },
      { overview: 'default', fns: [fn] },
    ]);
    await until(() => live.events.some(({ name }) => name === 'job'));
    live.close();
    expect(JSON.stringify(live.events)).not.toContain(SECRET);
    const heard = live.events.find(({ name }) => name === 'job')?.data as LiveEvents['job'] | undefined;
    expect(heard?.job?.id).toBe(id);
  });

  it('shows no secret that another program writes into any field of a job', async () => {
    const { base, client, workers } = await serve();
    const fn = redis.fn();
    await workers.add(fn, (_input, job) => job.step('one', () => null), { retry: { attempts: 1 } });
    const { id } = await client.run(fn, 1, { headers: { a: 'b' }, unique: { key: 'key' } });
    await eventually(async () => expect((await client.get(fn, id))?.state).toBe('succeeded'));
    const stored = await redis.redis.hgetall(`job:${fn}:${id}`);
    const fields = [
      ...Object.keys(stored),
      'error',
      'error:1',
      'waits',
      'flow',
      'after',
      'place',
      'unique',
      'anything',
    ];
    for (const [index, field] of fields.entries()) {
      // The name of a job's key is one to find it by.
      if (field === 'key') continue;
      const isJson = /^(?:error|options|steps|tags)/.test(field);
      const value = isJson ? JSON.stringify({ name: SECRET, message: SECRET, code: SECRET }) : SECRET;
      const status = ['waits', 'after', 'error:1'].includes(field) ? 'idle' : 'error';
      // A job of its own: what was read of one is shown for two seconds.
      const other = String(Number(id) + 1 + index);
      await redis.redis.hset(`job:${fn}:${other}`, { ...stored, status, [field]: value });
      const views = await pagesOf(base, fn, other);
      expect([field, leaks(views)]).toEqual([field, []]);
      expect([field, views[`job?fn=${fn}&id=${other}`]]).toEqual([
        field,
        expect.stringContaining(`"id":"${other}"`),
      ]);
    }
  });

  it('decodes MessagePack, so that a pattern finds what is in it', async () => {
    const { base, client, workers } = await serve(undefined, { codec: 'msgpack' });
    const fn = redis.fn();
    await workers.add(fn, async (_input, job) => {
      await job.chunk({ text: SECRET, number: 1.5 });
      return { text: SECRET, number: 2.5 };
    });
    const { id } = await client.run(fn, { text: SECRET, number: 0.5 });
    await eventually(async () => expect((await client.get(fn, id))?.state).toBe('succeeded'));
    expect(leaks(await viewsOf(base, fn, id))).toEqual([]);
    const payload = await json<PayloadView>(base, `/api/payload?fn=${fn}&id=${id}&part=input`);
    expect(JSON.parse(payload.text)).toMatchObject({ text: '***', number: 0.5 });
    expect(payload).toMatchObject({ encoding: 'utf8', redacted: true });
    expect((await ask(base, `/api/raw?fn=${fn}&id=${id}&part=output`)).text).toContain('***');
  });

  it('finds what JSON of another program has escaped', async () => {
    const { base, client } = await serve();
    const fn = redis.fn();
    const { id } = await client.run(fn, null);
    await redis.redis.hset(`job:${fn}:${id}`, 'input', `{"text":"\\u0074omato"}`);
    expect(await json<PayloadView>(base, `/api/payload?fn=${fn}&id=${id}&part=input`)).toMatchObject({
      ...{ text: '{"text":"***"}', redacted: true },
    });
  });

  it('finds what PHP has written, and any other that escapes slashes', async () => {
    const { base, client } = await serve({ redact: ({ text }) => text.replaceAll('hooks/7', '***') });
    const fn = redis.fn();
    const { id } = await client.run(fn, null);
    const json7 = '{"at":"https:\\/\\/a\\/hooks\\/7"}';
    await redis.redis.hset(`job:${fn}:${id}`, {
      input: json7,
      anything: json7,
      cut: json7.slice(0, -2).replace('oo', '\\u006fo'),
    });
    const query = `fn=${fn}&id=${id}`;
    expect(await json<PayloadView>(base, `/api/payload?${query}&part=input`)).toMatchObject({
      ...{ text: '{"at":"https://a/***"}', redacted: true },
    });
    expect((await ask(base, `/api/raw?${query}&part=input`)).text).toBe('{"at":"https://a/***"}');
    const { text } = await ask(base, `/api/job?${query}`);
    expect(text.match(/\*\*\*/g)).toHaveLength(2);
    expect(text).not.toMatch(/hooks/);
  });

  const CUT = Buffer.from(encode({ text: SECRET })).subarray(0, -1);
  const encrypting: Codec = {
    name: 'encrypted',
    encode: () => Buffer.from([0xff, 0xfe]),
    decode: () => ({ text: 'in the clear' }),
  };
  it.each<[string, Buffer, { codec?: 'msgpack' | Codec }]>([
    ['bytes that its codec does not read', CUT, { codec: 'msgpack' }],
    ['bytes where JSON is expected', Buffer.from([0xff, ...Buffer.from(SECRET)]), {}],
    [
      'MessagePack with bytes that are no text',
      Buffer.from(encode(Buffer.from([0xff, 1]))),
      { codec: 'msgpack' },
    ],
    ['what a codec of the app wrote, which may encrypt', Buffer.from([0xff, 0xfe]), { codec: encrypting }],
  ])('hides %s, and says so', async (_, bytes, jobs) => {
    const { base, client } = await serve(undefined, jobs);
    const fn = redis.fn();
    const { id } = await client.run(fn, null);
    await redis.redis.hset(`job:${fn}:${id}`, 'input', bytes);
    const path = `fn=${fn}&id=${id}&part=input`;
    expect(await json<PayloadView>(base, `/api/payload?${path}`)).toEqual({
      ...{
        text: '(hidden)',
        encoding: 'utf8',
        bytes: bytes.length,
        cut: false,
        redacted: true,
        hidden: true,
      },
    });
    expect((await ask(base, `/api/raw?${path}`)).status).toBe(403);
  });

  it('sees the whole of a secret that is cut off behind what is shown', async () => {
    const { base, client } = await serve({ redact: ({ text }) => text.replaceAll(SECRET, '') });
    const fn = redis.fn();
    const { id } = await client.run(fn, null);
    const text = `${'x'.repeat(65_533)}${SECRET}${'y'.repeat(100_000)}`;
    await redis.redis.hset(`job:${fn}:${id}`, 'input', text);
    const shown = await json<PayloadView>(base, `/api/payload?fn=${fn}&id=${id}&part=input`);
    expect(shown.text).toBe(`${'x'.repeat(65_533)}yyy`);
  });

  describe('whose patterns match whole words', () => {
    const MAIL = 'anna.schmidt1984@corp.example';
    const KEY = 'sk_live_abcdEFGHijklMNOPqrstUVWX';
    const patterns = ({ text }: { text: string }) =>
      text
        .replace(/[\w.+-]+@[\w.-]+/g, '<mail>')
        .replace(/sk_live_\w{24}/g, '<key>')
        .replace(/"[^"]* pin: \d+"/g, '<pin>');

    /** Writes a job as another program does, and one that has failed into the list of those. */
    async function write(fn: string, id: string, fields: Record<string, string>): Promise<void> {
      const common = { input: '1', attempts: '1', finished: String(Date.now()) };
      await redis.redis.hset(`job:${fn}:${id}`, { status: 'error', ...common, ...fields });
      await redis.redis.zadd(`ended:${fn}:failed`, Date.now(), id);
    }

    it.each([
      ['numbers of', `no account for ${MAIL} of acme`, 'no account for <mail> of acme'],
      ['quotes of', 'no "card of ada, pin: 1984"', 'no <pin>'],
      ['the end of', `${'y'.repeat(165)} refused ${KEY}`, `${'y'.repeat(165)} refused <key>`],
      ['the end of', `${'y '.repeat(490)}refused ${KEY}`, 'y '.repeat(100)],
    ])('sees errors of `failures` before %s their messages are replaced', async (_, message, shown) => {
      const { base } = await serve({ redact: patterns });
      const fn = redis.fn();
      await write(fn, '1', { error: JSON.stringify({ name: 'Error', message }) });
      const { groups } = await json<FailuresView>(base, `/api/failures?fn=${fn}`);
      expect(groups).toMatchObject([{ message: shown, example: shown, count: 1 }]);
    });

    it('leaves groups of failures as they are, so that they are retried by their names', async () => {
      const { base, client } = await serve({ redact: patterns });
      const fn = redis.fn();
      for (const [index, of] of [MAIL, MAIL, 'none'].entries())
        await write(fn, String(index + 1), { error: JSON.stringify({ name: 'Error', message: `no ${of}` }) });
      const { groups } = await json<FailuresView>(base, `/api/failures?fn=${fn}`);
      expect(groups.map(({ message, count }) => [message, count])).toEqual([
        ['no <mail>', 2],
        ['no none', 1],
      ]);
      const [known] = await client.failures(fn);
      expect(groups[0]?.group).toBe(known?.group);
    });

    it('sees fields, their names and options before they are cut', async () => {
      const { base } = await serve({ redact: patterns });
      const fn = redis.fn();
      const [field, name] = ['x'.repeat(980), 'n'.repeat(240)];
      const options = JSON.stringify({ retry: 1, note: `${'x'.repeat(15_970)} ${KEY}` });
      await write(fn, '1', { field: `${field} ${KEY}`, [`${name} ${KEY}`]: '1', options });
      const job = await json<JobView>(base, `/api/job?fn=${fn}&id=1`);
      expect(job.more).toEqual({ field: `${field} <key>`, [`${name} <key>`]: '1' });
      expect(job.options).toMatch(/^\{"retry":1,"note":"x+ <key>/);
    });

    it('sees more of what a plain worker said of its error than is shown', async () => {
      const { base } = await serve({ redact: patterns });
      const fn = redis.fn();
      // Redis cuts it for lists at 4,096 bytes, for the page of the job at 262,144.
      for (const [id, most] of [
        ['1', 4096],
        ['2', 262_144],
      ] as const)
        await write(fn, id, { output: `${'y '.repeat(most / 2 - 6)}${KEY}` });
      const listed = await json<JobsView>(base, `/api/jobs?fn=${fn}&state=failed`);
      const shown = listed.jobs.find(({ id }) => id === '1')?.error?.message ?? '';
      expect([shown.length > 1000, shown.includes('sk_live')]).toEqual([true, false]);
      const of = await json<JobView>(base, `/api/job?fn=${fn}&id=2`);
      expect(of.error?.message).toBe('y '.repeat(32_768));
    });
  });

  it('is asked nothing, and bytes are as they are, without it', async () => {
    const job = defineJob(redis.fn(), { codec: 'msgpack' });
    const { base, client } = await serve({});
    const { id } = await client.run(job, { text: SECRET, number: 0.5 });
    const path = `fn=${job.name}&id=${id}&part=input`;
    const bytes = Buffer.from(encode({ text: SECRET, number: 0.5 }));
    expect(await json<PayloadView>(base, `/api/payload?${path}`)).toEqual({
      ...{
        text: bytes.toString('base64'),
        encoding: 'base64',
        bytes: bytes.length,
        cut: false,
        redacted: false,
      },
    });
    expect((await ask(base, `/api/raw?${path}`)).bytes).toEqual(bytes);
    await redis.redis.hset(`job:${job.name}:${id}`, 'anything', '{"at":"a\\/b"}');
    const { more } = await json<JobView>(base, `/api/job?fn=${job.name}&id=${id}`);
    expect(more).toEqual({ anything: '{"at":"a\\/b"}' });
  });
});
