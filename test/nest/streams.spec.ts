import { describe, expect, it } from '@jest/globals';
import { Controller, Module, Param, Sse, type INestApplication, type MessageEvent } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { map, type Observable } from 'rxjs';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';

const used = useRedis();

describe.each([
  ['memory', () => 'memory:'],
  ['Redis', () => used.url],
])('An app on %s whose jobs are watched over HTTP', (_, connection) => {
  /** A server with a stream for each kind of observable of a function. */
  async function serve(fn: string): Promise<INestApplication> {
    @Controller()
    class Streams {
      constructor(private readonly jobs: GearMonkeyClient) {}
      @Sse('watch/:id')
      watch(@Param('id') id: string): Observable<MessageEvent> {
        return this.jobs.watch(fn, id).pipe(map(({ state }) => ({ data: state })));
      }
      @Sse('progress')
      progress(): Observable<MessageEvent> {
        return this.jobs.progress(fn).pipe(map((data) => ({ data })));
      }
      @Sse('events')
      events(): Observable<MessageEvent> {
        return this.jobs.events(fn).pipe(map((data) => ({ data })));
      }
    }
    @Module({ imports: [GearMonkeyModule.forRoot({ connection: connection() })], controllers: [Streams] })
    class App {}
    const app = await NestFactory.create(App, { logger: false, abortOnError: false });
    await app.listen(0, '127.0.0.1');
    return app;
  }

  /** What a stream said, and whether it has ended. */
  function open(app: INestApplication, path: string) {
    const { port } = app.getHttpServer().address() as AddressInfo;
    const stream = { text: '', ended: false, opened: false };
    get({ port, host: '127.0.0.1', path }, (response: IncomingMessage) => {
      stream.opened = true;
      response.setEncoding('utf8').on('data', (text: string) => (stream.text += text));
      response.on('end', () => (stream.ended = true));
    }).on('error', () => undefined);
    return stream;
  }

  it('ends their streams and closes although clients stay connected', async () => {
    const fn = used.fn();
    const app = await serve(fn);
    const jobs = app.get(GearMonkeyClient);
    const { id } = await jobs.run(fn, null, { scheduled: new Date('2100-01-01') });
    const [watch, events, progress] = [
      open(app, `/watch/${id}`),
      open(app, '/events'),
      open(app, '/progress'),
    ];
    await until(() => watch.text.includes('scheduled') && events.opened && progress.opened);
    await app.close();
    await until(() => watch.ended && events.ended && progress.ended);
    expect(watch.text).not.toContain('failed');
  });

  it('also completes streams that are subscribed to while it closes', async () => {
    const app = await serve(used.fn());
    const jobs = app.get(GearMonkeyClient);
    await app.close();
    await expect(jobs.events('fn').forEach(() => undefined)).resolves.toBeUndefined();
  });
});
