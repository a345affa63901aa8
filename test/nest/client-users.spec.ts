import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  ForbiddenException,
  Injectable,
  Module,
  Post,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type ModuleMetadata,
  type NestInterceptor,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { WsAdapter } from '@nestjs/platform-ws';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { once } from 'node:events';
import { mergeMap } from 'rxjs';
import { WebSocket, type MessageEvent } from 'undici';
import { GearMonkeyClient, GearMonkeyModule, JobFailedError, Worker, defineJob } from 'nestjs-gearmonkey';
import { furtherInFullTier } from '../support/tier.js';
import { runScript } from '../support/test-process.js';
import { useRedis } from '../support/use-redis.js';

const check = defineJob<{ user: string }, boolean>('check');
const stamp = defineJob<string, string>('stamp');

@Injectable()
class Handlers {
  @Worker(check)
  check({ user }: { user: string }) {
    if (user === 'broken') throw new Error('no such user');
    return user === 'ann';
  }
  @Worker(stamp)
  stamp(text: string) {
    return `${text}!`;
  }
}

/** Lets in whom a job lets in. */
@Injectable()
class JobGuard implements CanActivate {
  constructor(private readonly jobs: GearMonkeyClient) {}
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    try {
      return await this.jobs.call(check, { user: headers['user'] ?? '' }, { timeout: '20s' });
    } catch (error) {
      if (error instanceof JobFailedError) throw new ForbiddenException(error.message);
      throw error;
    }
  }
}

/** Passes what a route returns through a job. */
@Injectable()
class Stamping implements NestInterceptor {
  constructor(private readonly jobs: GearMonkeyClient) {}
  intercept(_: ExecutionContext, next: CallHandler<string>) {
    return next.handle().pipe(mergeMap((text) => this.jobs.call(stamp, text, { timeout: '20s' })));
  }
}

@Controller()
class Routes {
  @Post()
  @UseGuards(JobGuard)
  @UseInterceptors(Stamping)
  post() {
    return 'posted';
  }
}

@WebSocketGateway()
class Gateway {
  constructor(private readonly jobs: GearMonkeyClient) {}
  @SubscribeMessage('stamp')
  stamp(@MessageBody() text: string) {
    return this.jobs.call(stamp, text, { timeout: '20s' });
  }
  @SubscribeMessage('check')
  async check(@MessageBody() user: string) {
    return this.jobs.call(check, { user }, { timeout: '20s' }).catch((error: JobFailedError) => error.code);
  }
}

describe('GearMonkeyClient', () => {
  const used = useRedis();
  const apps: INestApplication[] = [];
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  /** Its address. */
  async function listening(metadata: ModuleMetadata): Promise<string> {
    @Module({
      ...metadata,
      imports: [GearMonkeyModule.forRoot({ connection: used.url })],
      providers: [Handlers, ...(metadata.providers ?? [])],
    })
    class App {}
    const app = await NestFactory.create(App, { logger: false, abortOnError: false });
    apps.push(app);
    await app.useWebSocketAdapter(new WsAdapter(app)).listen(0, '127.0.0.1');
    return app.getUrl();
  }

  it.each([
    ['ann', 201, 'posted!'],
    ['bob', 403, 'Forbidden resource'],
    ['broken', 403, 'no such user'],
  ])('enqueues in a guard and an interceptor: %s is answered with %i', async (user, status, said) => {
    const url = await listening({ controllers: [Routes] });
    const response = await fetch(url, { method: 'POST', headers: { user } });
    expect(response.status).toBe(status);
    await expect(response.text()).resolves.toContain(said);
  });

  it('enqueues in a WebSocket gateway, whose messages get the output or what the error says', async () => {
    const url = await listening({ providers: [Gateway] });
    const socket = new WebSocket(url.replace('http', 'ws'));
    await once(socket, 'open');
    const answers: unknown[] = [];
    for (const [event, data] of [
      ['stamp', 'hello'],
      ['check', 'broken'],
    ]) {
      const answered = once(socket, 'message');
      socket.send(JSON.stringify({ event, data }));
      const [message] = (await answered) as [MessageEvent<string>];
      answers.push(message.data);
    }
    socket.close();
    await once(socket, 'close');
    expect(answers).toEqual(['"hello!"', '"JOB_FAILED"']);
  });

  it.each(
    furtherInFullTier<[string, () => string]>([['Redis', () => used.url]], [['memory', () => 'memory:']]),
  )('enqueues in a command-line app on %s, which ends by itself', async (_, connection) => {
    const { stdout, stderr, code } = await runScript('test/nest/command-line.ts', connection());
    expect({ stdout, stderr, code }).toEqual({
      stdout: 'enqueued 1, without a worker: NO_WORKERS\n',
      stderr: '',
      code: 0,
    });
  });
});
