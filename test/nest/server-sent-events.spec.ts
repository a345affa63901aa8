import { afterEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '../support/use-redis.js';
import { PLATFORMS, serveEvents } from './server-sent-events.js';

const TOKENS = ['One', ' line\r\nand ', { an: ['object'] }, 7, null, 'end'];
const used = useRedis();

interface SentEvent {
  readonly event: string;
  readonly id: string;
  readonly data: unknown;
}

describe.each(Object.keys(PLATFORMS) as (keyof typeof PLATFORMS)[])(
  'Server-sent events, on %s',
  (platform) => {
    describe.each([
      ['memory', () => 'memory:'],
      ['Redis', () => used.url],
    ])('of jobs on %s', (_, connection) => {
      const served: Awaited<ReturnType<typeof serveEvents>>[] = [];
      afterEach(() => Promise.all(served.splice(0).map(({ half, app }) => (half.open(), app.close()))));

      async function serve() {
        const all = await serveEvents(platform, { connection: connection(), fn: used.fn(), tokens: TOKENS });
        served.push(all);
        return all;
      }

      /** Reads a response until `count` events are there, or to its end. */
      async function read(url: string, lastEventId?: string, count = Infinity) {
        const stop = new AbortController();
        const headers = lastEventId === undefined ? undefined : { 'last-event-id': lastEventId };
        const response = await fetch(url, { headers, signal: stop.signal });
        let text = '';
        const events = () => [...text.matchAll(/((?:^.+\n)+)\n/gm)].map(([, block = '']) => eventIn(block));
        if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
          return { status: response.status, text: await response.text(), events: [] };
        for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          text += part;
          if (events().length >= count) break;
        }
        stop.abort();
        return { status: response.status, text, events: events() };
      }

      const chunks = TOKENS.map((data, n) => ({ event: 'message', id: String(n + 1), data }));
      const end = (state: string) => ({ event: 'end', id: 'end', data: { state } });

      it('have each chunk once over a reconnect, and end', async () => {
        const { url, jobs, ref, half } = await serve();
        const { id } = await jobs.run(ref, true);
        const first = await read(`${url}/output/${id}`, undefined, 2);
        expect(first.events).toEqual(chunks.slice(0, first.events.length));
        half.open();
        const rest = await read(`${url}/output/${id}`, first.events.at(-1)?.id);
        expect([...first.events, ...rest.events]).toEqual([...chunks, end('succeeded')]);
      });

      it('answer 204 to a browser that has the end, and the end to one that has all else', async () => {
        const { url, jobs, ref, half } = await serve();
        half.open();
        const job = await jobs.run(ref, false);
        await job.result().catch(() => undefined);
        for (const path of ['output', 'watch'])
          await expect(read(`${url}/${path}/${job.id}`, 'end')).resolves.toMatchObject({
            status: 204,
            text: '',
          });
        for (const id of ['6', '99'])
          expect((await read(`${url}/output/${job.id}`, id)).events).toEqual([end('failed')]);
      });

      it.each(['', '-1', '1.5', '1e3', 'End', '9'.repeat(16), '1, 2'])(
        'begin at the beginning for the id %p',
        async (lastEventId) => {
          const { url, jobs, ref, half } = await serve();
          half.open();
          const { id } = await jobs.run(ref, true);
          expect((await read(`${url}/output/${id}`, lastEventId)).events).toEqual([
            ...chunks,
            end('succeeded'),
          ]);
        },
      );

      it('have the states of a job, of the properties that are chosen, and end', async () => {
        const { url, jobs, ref, half } = await serve();
        const { id } = await jobs.run(ref, true);
        const watched = read(`${url}/watch/${id}`);
        half.open();
        const { events } = await watched;
        expect(events.slice(-2)).toEqual([
          {
            event: 'message',
            id: String(events.length - 1),
            data: { state: 'succeeded', output: 'the output' },
          },
          end('succeeded'),
        ]);
      });

      it('are 404 for a job that is not there', async () => {
        const { url } = await serve();
        for (const path of ['output', 'watch'])
          expect((await read(`${url}/${path}/999999`)).status).toBe(404);
      });

      it('have no end when the app closes before the job', async () => {
        const { url, jobs, ref, app } = await serve();
        const { id } = await jobs.run(ref, true, { delay: '1h' });
        const [output, watch] = [read(`${url}/output/${id}`), read(`${url}/watch/${id}`)];
        await read(`${url}/watch/${id}`, undefined, 1);
        await app.close();
        expect((await output).text + (await watch).text).not.toMatch(/event: (end|error)/);
      });
    });
  },
);

function eventIn(block: string): SentEvent {
  const field = (name: string) =>
    [...block.matchAll(new RegExp(`^${name}: (.*)$`, 'gm'))].map(([, value]) => value).join('\n');
  return { event: field('event') || 'message', id: field('id'), data: JSON.parse(field('data')) as unknown };
}
