/** @isolated The lines of an app would name the decorated classes of suites before it. */
import { describe, expect, it, jest } from '@jest/globals';
import {
  Catch,
  HttpException,
  Injectable,
  Logger,
  UseFilters,
  type ArgumentsHost,
  type ExceptionFilter,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter, HttpAdapterHost } from '@nestjs/core';
import {
  GearMonkeyClient,
  GearMonkeyModule,
  RetryLaterError,
  UnrecoverableError,
  Worker,
} from 'nestjs-gearmonkey';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';

const retry = { attempts: 3, backoff: 'fixed', delay: 1 } as const;

/** Before any app has been started. */
const own = BaseExceptionFilter.prototype.catch;

/** Nest's way to report an error and leave the answer to its own filter; Sentry's filter is one. */
@Catch()
class Reporting extends BaseExceptionFilter {
  static readonly reported: unknown[] = [];
  override catch(error: unknown, host: ArgumentsHost): void {
    Reporting.reported.push([host.getType(), (error as Error).message]);
    super.catch(error, host);
  }
}

/** Nest's filter for everything, which answers requests through the adapter. */
@Catch()
class Answering implements ExceptionFilter {
  constructor(private readonly adapter: HttpAdapterHost) {}
  catch(error: unknown, host: ArgumentsHost): void {
    const { httpAdapter } = this.adapter;
    httpAdapter.reply(host.switchToHttp().getResponse(), String(error), 500);
  }
}

/** Reports in its own time and returns nothing. */
@Catch()
class Silent implements ExceptionFilter {
  async catch(): Promise<void> {
    await Promise.resolve();
  }
}

const circular: Record<string, unknown> = { many: 1n };
circular['self'] = circular;

@Injectable()
class Handlers {
  @Worker('no-response')
  noResponse() {
    throw new HttpException(null as unknown as string, 400);
  }
  @Worker('odd-message')
  oddMessage() {
    throw new HttpException({ message: circular }, 400);
  }
  @Worker('frozen')
  frozen() {
    throw Object.freeze(new HttpException({ message: ['a', 'b'] }, 400));
  }
  @Worker('throws', { retry })
  throws() {
    throw new RangeError('boom');
  }
  @Worker('hopeless', { retry })
  hopeless() {
    throw new UnrecoverableError('never');
  }
  @Worker('later')
  later(_: unknown, { attempts }: { attempts: number }) {
    if (attempts === 1) throw new RetryLaterError(1);
    return attempts;
  }
  @Worker('http')
  http() {
    throw new HttpException('teapot', 418);
  }
}

describe.each([
  ['extends the base filter', Reporting],
  ['answers through the HTTP adapter', Answering],
  ['reports and returns nothing', Silent],
] as [string, Type][])('A global filter that %s', (_, filter) => {
  const apps = useApps();
  const start = async () => {
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:', globalEnhancers: true })];
    const providers = [Handlers, { provide: APP_FILTER, useClass: filter }];
    return (await apps.start({ imports, providers })).get(GearMonkeyClient);
  };

  it('leaves the error unchanged', async () => {
    const client = await start();
    await expect(client.call('throws', null)).rejects.toMatchObject({
      error: { name: 'RangeError', message: 'boom' },
    });
    await expect(client.get('throws', 1)).resolves.toMatchObject({ attempts: 3 });
    await expect(client.call('http', null)).rejects.toMatchObject({
      error: { name: 'HttpException', message: 'teapot' },
    });
  });

  it('keeps the effect of UnrecoverableError and RetryLaterError', async () => {
    const client = await start();
    await expect(client.call('hopeless', null)).rejects.toThrow('never');
    await expect(client.get('hopeless', 1)).resolves.toMatchObject({ attempts: 1 });
    await expect(client.call('later', null)).resolves.toBe(2);
  });
});

describe("Nest's own base filter", () => {
  const apps = useApps();
  const answered: unknown[] = [];
  const adapter = {
    isHeadersSent: () => false,
    reply: (...answer: unknown[]) => answered.push(answer),
  };
  const base = () => new BaseExceptionFilter(adapter as never);
  /** As tests of filters make them: it knows what it is asked for. */
  const host = { getArgByIndex: () => 'response' } as unknown as ArgumentsHost;

  it('answers requests whose host has no type, also after jobs have run', async () => {
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:', globalEnhancers: true })];
    const providers = [Handlers, { provide: APP_FILTER, useClass: Reporting }];
    const client = (await apps.start({ imports, providers })).get(GearMonkeyClient);
    await expect(client.call('throws', null)).rejects.toThrow('boom');
    base().catch(new HttpException('teapot', 418), host);
    expect(answered).toEqual([['response', { statusCode: 418, message: 'teapot' }, 418]]);
  });

  it('is replaced only if a handler has a filter that extends it', () => {
    expect(own.toString()).toContain('getResponse');
    expect(BaseExceptionFilter.prototype.catch).not.toBe(own);
  });

  it('is replaced once, however many jobs and apps there are', async () => {
    const replaced = BaseExceptionFilter.prototype.catch;
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:', globalEnhancers: true })];
    const providers = [Handlers, { provide: APP_FILTER, useClass: Reporting }];
    const client = (await apps.start({ imports, providers })).get(GearMonkeyClient);
    await expect(client.call('throws', null)).rejects.toThrow('boom');
    expect(BaseExceptionFilter.prototype.catch).toBe(replaced);
  });
});

describe('A filter', () => {
  const apps = useApps();
  const start = async (...providers: Type[]) => {
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' })];
    return (await apps.start({ imports, providers })).get(GearMonkeyClient);
  };

  it('is called for each attempt with the context of the job', async () => {
    Reporting.reported.length = 0;
    @Injectable()
    class Filtered {
      @Worker('filtered', { retry })
      @UseFilters(Reporting)
      run() {
        throw new Error('again');
      }
    }
    const client = await start(Filtered);
    await expect(client.call('filtered', null)).rejects.toThrow('again');
    expect(Reporting.reported).toEqual(Array(3).fill(['gearmonkey', 'again']));
  });

  it('may return an output instead of the handler, or throw another error', async () => {
    @Catch(RangeError)
    class Mild implements ExceptionFilter {
      catch(error: RangeError) {
        return `caught ${error.message}`;
      }
    }
    @Catch(TypeError)
    class Mapping implements ExceptionFilter {
      catch(error: TypeError) {
        throw new UnrecoverableError('mapped', { cause: error });
      }
    }
    @Injectable()
    class Filtered {
      @Worker('filtered', { retry })
      @UseFilters(Mild, Mapping)
      run(name: string) {
        throw name === 'range' ? new RangeError(name) : new TypeError(name);
      }
    }
    const client = await start(Filtered);
    await expect(client.call('filtered', 'range')).resolves.toBe('caught range');
    await expect(client.call('filtered', 'type')).rejects.toThrow('mapped');
    await expect(client.get('filtered', 2)).resolves.toMatchObject({ attempts: 1 });
  });
});

describe('An HttpException of a handler', () => {
  const apps = useApps();

  it.each([
    ['no-response', 'Http Exception'],
    ['odd-message', 'Http Exception'],
    ['frozen', 'Http Exception'],
  ])('%s stays the error of its job', async (fn, message) => {
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' })];
    const client = (await apps.start({ imports, providers: [Handlers] })).get(GearMonkeyClient);
    await expect(client.call(fn, null)).rejects.toMatchObject({
      error: { name: 'HttpException', message: expect.stringContaining(message) },
    });
  });
});

describe('A handler that throws', () => {
  const apps = useApps();

  it('has its error logged only by the worker, without its stack', async () => {
    const printed: string[] = [];
    const error = jest
      .spyOn(Logger.prototype, 'error')
      .mockImplementation((text) => void printed.push(String(text)));
    const warn = jest
      .spyOn(Logger.prototype, 'warn')
      .mockImplementation((text) => void printed.push(String(text)));
    try {
      const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' })];
      const client = (await apps.start({ imports, providers: [Handlers] })).get(GearMonkeyClient);
      await expect(client.call('throws', null)).rejects.toThrow('boom');
      await eventually(() => expect(printed.length).toBeGreaterThanOrEqual(3));
      expect(printed).toEqual([
        expect.stringMatching(/^throws 1 failed \(attempt 1 of 3, next in \d ms\): RangeError: boom$/),
        expect.stringMatching(/^throws 1 failed \(attempt 2 of 3, next in \d ms\): RangeError: boom$/),
        'throws 1 failed for good (attempt 3 of 3): RangeError: boom',
      ]);
    } finally {
      error.mockRestore();
      warn.mockRestore();
    }
  });
});
