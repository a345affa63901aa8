import { Controller, Get, Header, Headers, Module, Param, Sse, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  chunk,
  defineJob,
  GearMonkeyClient,
  GearMonkeyExceptionFilter,
  GearMonkeyModule,
  sseOutput,
  sseWatch,
  Worker,
} from 'nestjs-gearmonkey';
import { gate } from '../support/gate.js';

export const PLATFORMS = {
  Express: (app: Type) => NestFactory.create(app, { logger: false, abortOnError: false }),
  Fastify: (app: Type) =>
    NestFactory.create(app, new FastifyAdapter(), { logger: false, abortOnError: false }),
};

/** A page that notes what an `EventSource` tells it in `seen`. */
const PAGE = `<!doctype html><title>events</title><link rel="icon" href="data:,"><script>
  window.seen = [];
  const source = new EventSource('/output/' + location.search.slice(1));
  source.onopen = () => seen.push('open');
  source.onmessage = ({ data }) => seen.push(JSON.parse(data));
  source.addEventListener('end', ({ data }) => seen.push(JSON.parse(data)));
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) seen.push('closed'); };
</script>`;

/** An app that streams the tokens of a job to browsers. It holds the job behind `half` until that is opened. */
export async function serveEvents(
  platform: keyof typeof PLATFORMS,
  { connection, fn, tokens }: { connection: string; fn: string; tokens: readonly unknown[] },
) {
  const ref = defineJob<boolean, string, unknown>(fn);
  const half = gate();

  @Controller()
  class Streams {
    constructor(private readonly jobs: GearMonkeyClient) {}
    @Worker(ref)
    async *tell(succeeds: boolean) {
      for (const [n, token] of tokens.entries()) {
        if (n === tokens.length >> 1) await half.passed;
        yield chunk(token);
      }
      if (!succeeds) throw new Error('no');
      return 'the output';
    }
    @Get()
    @Header('content-type', 'text/html')
    page() {
      return PAGE;
    }
    @Sse('output/:id')
    output(@Param('id') id: string, @Headers('last-event-id') lastEventId?: string) {
      return sseOutput(this.jobs, ref, id, { lastEventId });
    }
    @Sse('watch/:id')
    watch(@Param('id') id: string, @Headers('last-event-id') lastEventId?: string) {
      return sseWatch(this.jobs, ref, id, {
        lastEventId,
        data: ({ state, output }) => ({ state, output }),
      });
    }
  }
  @Module({
    imports: [GearMonkeyModule.forRoot({ connection })],
    controllers: [Streams],
  })
  class App {}
  const app = await PLATFORMS[platform](App);
  app.useGlobalFilters(new GearMonkeyExceptionFilter(app.getHttpAdapter()));
  await app.listen(0, '127.0.0.1');
  return { app, half, url: await app.getUrl(), jobs: app.get(GearMonkeyClient), ref };
}
