import { afterEach, describe, expect, it } from '@jest/globals';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { once } from 'node:events';
import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import { gate } from '../support/gate.js';
import { useServedApps } from './dashboard-app.js';

describe('an app that closes while pages are open over HTTP/2', () => {
  const apps = useServedApps();
  const sessions: ClientHttp2Session[] = [];
  afterEach(() => {
    for (const session of sessions.splice(0)) session.destroy();
  });

  async function serve(beforeApplicationShutdown: () => Promise<void> | void = () => undefined) {
    const app = await apps.create(new FastifyAdapter({ http2: true } as object), {
      imports: [
        GearMonkeyModule.forRoot({ connection: 'memory:' }),
        DashboardModule.forRoot({ auth: () => ({ name: 'ada', view: true, act: true }) }),
      ],
      providers: [{ provide: 'slow', useValue: { beforeApplicationShutdown } }],
    });
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const open = () => {
      const session = connect(`http://127.0.0.1:${port}`);
      sessions.push(session);
      return session;
    };
    return { app, open };
  }

  /** The status of an answer that nothing is read of yet, and its stream. */
  async function ask(session: ClientHttp2Session, path: string) {
    const stream = session.request({ ':path': `/jobs/api/${path}` });
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
    return { status: headers[':status'], stream };
  }

  it('ends their connections, once their streams have said good-bye', async () => {
    const { app, open } = await serve();
    const [idle, live] = [open(), open()];
    (await ask(idle, 'session')).stream.resume();
    const { stream } = await ask(live, `live?topics=[{"overview":"default"}]`);
    let text = '';
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
    const ended = [idle, live].map((session) => once(session, 'close'));
    await app.close();
    await Promise.all(ended);
    expect(text).toContain('event: bye');
  });

  it('ends the connection of a page that asks meanwhile', async () => {
    const [begun, end] = [gate(), gate()];
    const { app, open } = await serve(() => {
      begun.open();
      return end.passed;
    });
    const closed = app.close();
    await begun.passed;
    const late = open();
    const ended = once(late, 'close');
    const { status, stream } = await ask(late, 'session');
    stream.resume();
    expect(status).toBe(503);
    await ended;
    end.open();
    await closed;
  });
});
