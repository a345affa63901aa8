import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  Controller,
  Get,
  Injectable,
  Logger,
  Module,
  Param,
  Post,
  Res,
  UseFilters,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type MiddlewareConsumer,
  type ModuleMetadata,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_FILTER, ExternalContextCreator, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  ConfigurationError,
  ConnectionError,
  EnqueueTimeoutError,
  GearMonkeyClient,
  GearMonkeyExceptionFilter,
  GearMonkeyModule,
  JobFailedError,
  LimitFullError,
  NotCancellableError,
  RefusedError,
  Worker,
  defineJob,
} from 'nestjs-gearmonkey';
import { mergeMap } from 'rxjs';
import { z } from 'zod';
import { DatabaseError, PeerLostError } from '../../lib/jobd/index.js';
import { JqJobNotFoundError, JqUnreachableError } from '../../lib/jq/index.js';
import { QlessDependencyError } from '../../lib/qless/index.js';
import { SECRET } from '../support/hostile-values.js';

const mail = defineJob('mail', { input: z.object({ to: z.email() }) });

/** Errors of outages, in which a password stands wherever a driver may have put it. */
const trouble = () =>
  Object.assign(new Error(`connect to redis://app:${SECRET}@10.9.8.7:6379 failed`), {
    command: { args: [SECRET] },
  });

/** Errors that only a server's state could bring about. */
const ERRORS: Readonly<Record<string, () => Error>> = {
  connection: () => new ConnectionError('Redis is gone', trouble()),
  late: () => new EnqueueTimeoutError('mail', 5000, trouble()),
  refused: () => new RefusedError('A job', trouble()),
  busy: () => new NotCancellableError('mail', '1'),
  full: () => new LimitFullError('mail', 'acme'),
  failed: () =>
    new JobFailedError('mail', '1', { name: 'Error', message: `select ${SECRET}`, stack: 'at x' }),
  wiring: () => new ConfigurationError('mistake'),
  jqUnknown: () => new JqJobNotFoundError('1'),
  jqGone: () => new JqUnreachableError(`http://10.9.8.7`, 'A job', trouble()),
  qless: () => new QlessDependencyError('Cancel', 'it is depended on', 'Cancel both.'),
  database: () => new DatabaseError('The rows', trouble()),
  peer: () => new PeerLostError('gone'),
  other: () => new TypeError('a bug'),
};

/** Asks for a job that isn't there. */
@Injectable()
class Guard implements CanActivate {
  constructor(private readonly jobs: GearMonkeyClient) {}
  async canActivate() {
    return (await this.jobs.result(mail, '999')) === 'open';
  }
}

@Injectable()
class Interceptor implements NestInterceptor {
  constructor(private readonly jobs: GearMonkeyClient) {}
  intercept(_: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(mergeMap(() => this.jobs.result(mail, '999')));
  }
}

/** The id of no job. */
const MISSING = '999';

@Controller()
class Jobs {
  constructor(private readonly jobs: GearMonkeyClient) {}

  @Post('mails/:to')
  async send(@Param('to') to: string) {
    return (await this.jobs.run(mail, { to })).id;
  }
  @Post('counted')
  counted() {
    return this.jobs.run('counted', null, { rollCall: true });
  }
  @Post('odd')
  odd() {
    return this.jobs.run(mail, { to: 'ada@example.com' }, { delay: 'soon' });
  }
  @Post('large')
  large() {
    return this.jobs.run('large', 'x'.repeat(2000));
  }
  @Get('mails/:id')
  output(@Param('id') id: string) {
    return this.jobs.result(mail, id, { timeout: id === MISSING ? '60s' : 20 });
  }
  @Get('errors/:name')
  error(@Param('name') name: string) {
    throw ERRORS[name]?.();
  }
  @Get('guarded')
  @UseGuards(Guard)
  guarded() {}
  @Get('intercepted')
  @UseInterceptors(Interceptor)
  intercepted() {}
  @Get('begun/:how')
  begun(@Param('how') how: string, @Res() response: Begun) {
    (response.raw ?? response).write('begun');
    setImmediate(() => (response.raw ?? response).end());
    throw ERRORS[how]?.();
  }
}

interface Begun {
  readonly raw?: Begun;
  write(text: string): void;
  end(): void;
}

let app: INestApplication | undefined;
const printed: unknown[] = [];

afterEach(async () => {
  await app?.close();
  app = undefined;
  jest.restoreAllMocks();
});

const ADAPTERS = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
] as const;

async function listen(
  adapter: ExpressAdapter | FastifyAdapter,
  metadata: ModuleMetadata,
  prepare: (app: INestApplication) => void = () => undefined,
): Promise<string> {
  @Module({
    imports: [GearMonkeyModule.forRoot({ connection: 'memory:', maxPayloadBytes: 1000 })],
    controllers: [Jobs],
    ...metadata,
  })
  class App {
    configure(consumer: MiddlewareConsumer) {
      const failing = () => {
        throw ERRORS['busy']?.();
      };
      consumer.apply(failing).forRoutes('middleware');
    }
  }
  printed.length = 0;
  jest.spyOn(Logger.prototype, 'error').mockImplementation((error) => void printed.push(error));
  app = await NestFactory.create(App, adapter, { logger: false, abortOnError: false });
  prepare(app);
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}

async function ask(url: string, method = 'GET') {
  const response = await fetch(url, { method });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text) as Record<string, unknown>, text };
}

type Way = readonly [name: string, metadata: ModuleMetadata, prepare: (app: INestApplication) => void];
const BY_MODULE: ModuleMetadata = {
  providers: [{ provide: APP_FILTER, useClass: GearMonkeyExceptionFilter }],
};

/** Ways to have the filter. */
const WAYS: readonly Way[] = [
  ['APP_FILTER', BY_MODULE, () => undefined],
  ['useGlobalFilters', {}, (made) => void made.useGlobalFilters(new GearMonkeyExceptionFilter())],
  [
    'useGlobalFilters with the adapter',
    {},
    (made) => void made.useGlobalFilters(new GearMonkeyExceptionFilter(made.getHttpAdapter())),
  ],
];

describe.each(ADAPTERS)('With %s', (_, adapter) => {
  it.each(WAYS)('and %s, errors have the status they stand for', async (_way, metadata, prepare) => {
    const url = await listen(adapter(), metadata, prepare);
    await expect(ask(`${url}/mails/nobody`, 'POST')).resolves.toMatchObject({
      status: 400,
      body: {
        statusCode: 400,
        error: 'Bad Request',
        errorCode: 'VALIDATION_FAILED',
        message: expect.stringContaining('The input of "mail" doesn\'t match its schema: to: '),
      },
    });
    await expect(ask(`${url}/odd`, 'POST')).resolves.toMatchObject({
      status: 400,
      body: { errorCode: 'INVALID_OPTION' },
    });
    await expect(ask(`${url}/large`, 'POST')).resolves.toMatchObject({
      status: 413,
      body: { errorCode: 'PAYLOAD_TOO_LARGE' },
    });
    await expect(ask(`${url}/mails/${MISSING}`)).resolves.toMatchObject({
      status: 404,
      body: { error: 'Not Found', errorCode: 'JOB_NOT_FOUND' },
    });
    await expect(ask(`${url}/counted`, 'POST')).resolves.toMatchObject({
      status: 503,
      body: { error: 'Service Unavailable', errorCode: 'NO_WORKERS' },
    });
    const sent = await fetch(`${url}/mails/ada@example.com`, { method: 'POST' });
    await expect(ask(`${url}/mails/${await sent.text()}`)).resolves.toMatchObject({
      status: 504,
      body: { error: 'Gateway Timeout', errorCode: 'WAIT_TIMEOUT' },
    });
    await expect(ask(`${url}/errors/busy`)).resolves.toMatchObject({
      status: 409,
      body: { error: 'Conflict', errorCode: 'NOT_CANCELLABLE' },
    });
    await expect(ask(`${url}/errors/full`)).resolves.toMatchObject({
      status: 429,
      body: { error: 'Too Many Requests', errorCode: 'LIMIT_FULL' },
    });
    expect(printed).toEqual([]);
  });

  it.each([
    ['jqUnknown', 404],
    ['qless', 409],
    ['connection', 503],
    ['late', 503],
    ['refused', 503],
    ['jqGone', 503],
    ['database', 503],
    ['peer', 503],
  ])('errors of all systems do: %s with %d, and nothing of the inside', async (name, status) => {
    const url = await listen(adapter(), BY_MODULE);
    const answer = await ask(`${url}/errors/${name}`);
    expect(answer.status).toBe(status);
    expect(Object.keys(answer.body).toSorted()).toEqual(['error', 'errorCode', 'message', 'statusCode']);
    expect(answer.text).not.toMatch(new RegExp(`${SECRET}|10\\.9\\.8\\.7|exception-filter\\.spec`));
  });

  it.each(WAYS)(
    'and %s, all other errors are answered and printed by Nest',
    async (_way, metadata, prepare) => {
      const url = await listen(adapter(), metadata, prepare);
      for (const name of ['failed', 'wiring', 'other']) {
        await expect(ask(`${url}/errors/${name}`)).resolves.toMatchObject({
          status: 500,
          body: { statusCode: 500, message: 'Internal server error' },
        });
      }
      expect(printed).toEqual([
        expect.any(JobFailedError),
        expect.any(ConfigurationError),
        expect.any(TypeError),
      ]);
    },
  );

  it.each(WAYS)('and %s, an answer that has begun ends', async (_way, metadata, prepare) => {
    const url = await listen(adapter(), metadata, prepare);
    const response = await fetch(`${url}/begun/busy`);
    await expect(response.text()).resolves.toBe('begun');
    await expect(ask(`${url}/errors/busy`)).resolves.toMatchObject({ status: 409 });
  });

  it('on a controller or a method it holds there', async () => {
    @Controller('filtered')
    @UseFilters(GearMonkeyExceptionFilter)
    class Filtered {
      @Get()
      get() {
        throw ERRORS['busy']?.();
      }
    }
    @Controller('some')
    class Some {
      @Get('filtered')
      @UseFilters(new GearMonkeyExceptionFilter())
      filtered() {
        throw ERRORS['busy']?.();
      }
      @Get('plain')
      plain() {
        throw ERRORS['busy']?.();
      }
    }
    const url = await listen(adapter(), { controllers: [Filtered, Some] });
    const statuses = ['filtered', 'some/filtered', 'some/plain'].map(
      async (path) => (await ask(`${url}/${path}`)).status,
    );
    await expect(Promise.all(statuses)).resolves.toEqual([409, 409, 500]);
  });

  it('errors of guards and interceptors have it too', async () => {
    const url = await listen(adapter(), BY_MODULE);
    for (const path of ['guarded', 'intercepted'])
      await expect(ask(`${url}/${path}`)).resolves.toMatchObject({ status: 404 });
  });

  it.each(WAYS)('and %s, errors of middleware have it too', async (_way, metadata, prepare) => {
    const url = await listen(adapter(), metadata, prepare);
    await expect(ask(`${url}/middleware`)).resolves.toMatchObject({ status: 409 });
  });
});

describe('A context that is no HTTP request', () => {
  const filter = { provide: APP_FILTER, useClass: GearMonkeyExceptionFilter };

  it('is left alone: a job fails with the error, also with global filters', async () => {
    @Injectable()
    class Handlers {
      @Worker('busy')
      @UseFilters(GearMonkeyExceptionFilter)
      busy() {
        throw ERRORS['busy']?.();
      }
    }
    @Module({
      imports: [GearMonkeyModule.forRoot({ connection: 'memory:', globalEnhancers: true })],
      providers: [Handlers, filter],
    })
    class App {}
    app = await NestFactory.create(App, { logger: false });
    await app.init();
    const call = app.get(GearMonkeyClient).call('busy', null);
    await expect(call).rejects.toMatchObject({ error: { code: 'NOT_CANCELLABLE' } });
  });

  it('is left alone: a resolver of GraphQL throws the error', async () => {
    @Injectable()
    class Resolver {
      @UseFilters(GearMonkeyExceptionFilter)
      jobs() {
        throw ERRORS['busy']?.();
      }
    }
    @Module({ providers: [Resolver, filter] })
    class App {}
    app = await NestFactory.create(App, { logger: false });
    await app.init();
    const resolver = app.get(Resolver);
    const contexts = app.get(ExternalContextCreator);
    const options = { guards: true, interceptors: true, filters: true };
    const resolve = contexts.create(
      resolver as never,
      resolver.jobs as never,
      'jobs',
      undefined,
      undefined,
      undefined,
      undefined,
      options,
      'graphql',
    );
    await expect(resolve()).rejects.toBeInstanceOf(NotCancellableError);
  });
});
