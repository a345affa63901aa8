import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, type Type } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { once } from 'node:events';
import {
  connect,
  type ClientHttp2Session,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type Settings,
} from 'node:http2';
import { text as textOf } from 'node:stream/consumers';
import type { AddressInfo, Socket } from 'node:net';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import { gate } from '../support/gate.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';
import { LAST_MS } from '../../lib/dashboard/live-stream.js';
import { useServedApps } from './dashboard-app.js';

describe('an app that closes while pages are open over HTTP/2', () => {
  const apps = useServedApps();
  const sessions: ClientHttp2Session[] = [];
  const relays: Relay[] = [];
  afterEach(() => {
    for (const session of sessions.splice(0)) session.destroy();
    for (const relay of relays.splice(0)) relay.close();
  });

  async function serve(
    beforeApplicationShutdown: () => Promise<void> | void = () => undefined,
    controllers: Type[] = [],
    beforeAnswer: () => Promise<void> | void = () => undefined,
  ) {
    const user = { name: 'ada', view: true, act: true };
    const app = await apps.create(new FastifyAdapter({ http2: true } as object), {
      imports: [
        GearMonkeyModule.forRoot({ connection: 'memory:' }),
        DashboardModule.forRoot({ auth: async () => beforeAnswer()?.then(() => user) ?? user }),
      ],
      controllers,
      providers: [{ provide: 'slow', useValue: { beforeApplicationShutdown } }],
    });
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const open = (at = port, settings: Settings = {}) => {
      const session = connect(`http://127.0.0.1:${at}`, { settings });
      sessions.push(session);
      return session;
    };
    return { app, port, open };
  }

  /** A port by which a client reaches the app until it sleeps. */
  async function sleeperTo(port: number) {
    const relay = await Relay.to(port);
    relays.push(relay);
    const { join } = relay;
    const joined: (() => void)[] = [];
    relay.join = (near: Socket, far: Socket) => {
      join(near, far);
      joined.push(() => far.unpipe(near).pause());
    };
    const sleep = () => joined.forEach((stop) => stop());
    return { port: relay.port, sleep };
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

  it.each([
    ['a page that listens', 'live?topics=[{"overview":"default"}]'],
    ['a page that has asked', 'session'],
  ])('ends though the client of %s is asleep', async (_, path) => {
    const { app, port, open } = await serve();
    const sleeper = await sleeperTo(port);
    expect((await ask(open(sleeper.port), path)).status).toBe(200);
    sleeper.sleep();
    await app.close();
  });

  it('ends though a page does not read its answer', async () => {
    const { app, port, open } = await serve();
    expect((await ask(open(port, { initialWindowSize: 0 }), 'session')).status).toBe(200);
    await app.close();
  });

  it('ends though a page does not read an answer that comes late', async () => {
    const [asked, answer, served] = [gate(), gate(), gate()];
    const beforeAnswer = () => {
      asked.open();
      return answer.passed;
    };
    const { app, port, open } = await serve(() => served.open(), [], beforeAnswer);
    const late = ask(open(port, { initialWindowSize: 0 }), 'session');
    await asked.passed;
    const closed = app.close();
    await served.passed;
    const from = performance.now();
    await until(() => performance.now() > from + 2 * LAST_MS);
    answer.open();
    expect((await late).status).toBe(200);
    await closed;
  });

  it('answers what was asked of the app itself by a connection of a page, however long that takes', async () => {
    const [begun, end] = [gate(), gate()];
    @Controller('slow')
    class Slow {
      @Get()
      async slow() {
        begun.open();
        await end.passed;
        return 'of the app';
      }
    }
    const { app, port, open } = await serve(undefined, [Slow]);
    const sleeper = await sleeperTo(port);
    const other = once(app.getHttpServer() as Http2Server, 'session') as Promise<[ServerHttp2Session]>;
    await ask(open(sleeper.port), 'session');
    sleeper.sleep();
    const session = open();
    const own = session.request({ ':path': '/slow' });
    await begun.passed;
    await ask(session, 'session');
    const [asleep] = await other;
    const closed = app.close();
    await once(asleep, 'close');
    end.open();
    await expect(textOf(own)).resolves.toBe('of the app');
    await closed;
  });
});
