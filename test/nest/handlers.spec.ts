import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  Catch,
  Controller,
  Injectable,
  Module,
  ParseIntPipe,
  Scope,
  SetMetadata,
  UseFilters,
  UseGuards,
  UseInterceptors,
  createParamDecorator,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplicationContext,
  type NestInterceptor,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import {
  APP_FILTER,
  APP_GUARD,
  APP_INTERCEPTOR,
  APP_PIPE,
  NestFactory,
  REQUEST,
  Reflector,
} from '@nestjs/core';
import { Inject } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { Observable, from, map, of, toArray, firstValueFrom } from 'rxjs';
import {
  CurrentJob,
  GearMonkeyClient,
  GearMonkeyModule,
  Input,
  Worker,
  progress,
  type RunningJob,
} from 'nestjs-gearmonkey';

import { RedisSource } from '../../lib/gearmonkey/redis-source.js';
import { HeldClaims } from '../../lib/gearmonkey/core/source/held-claims.js';
import { gate } from '../support/gate.js';
import { eventually } from '../support/until.js';

const apps: INestApplicationContext[] = [];

afterEach(async () => {
  jest.restoreAllMocks();
  for (const app of apps.splice(0)) await app.close();
});

/** An app with the embedded server and these providers, and its client. */
async function start(
  providers: (Type | object)[],
  options: { globalEnhancers?: boolean; controllers?: Type[] } = {},
) {
  const { globalEnhancers = false, controllers = [] } = options;
  @Module({
    imports: [GearMonkeyModule.forRoot({ connection: 'memory:', globalEnhancers })],
    providers: providers as Type[],
    controllers,
  })
  class App {}
  const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  apps.push(app);
  return app.get(GearMonkeyClient);
}

describe('a @Worker method', () => {
  it.each([
    [true, 0, 'single'],
    [false, 1, 'single'],
    [true, 0, 'batch'],
    [false, 1, 'batch'],
  ])(
    'begins behind a guard that took long only if no other worker has the job (%s, %i runs of a %s)',
    async (isLost, runs, kind) => {
      let [mayBeLost, ran] = [false, 0];
      jest.spyOn(HeldClaims.prototype, 'mayBeLost').mockImplementation(() => mayBeLost);
      const renew = jest.spyOn(RedisSource.prototype, 'renew').mockImplementation(async (claims) => {
        mayBeLost = isLost;
        return isLost ? claims : [];
      });
      class Slow implements CanActivate {
        canActivate(): boolean {
          mayBeLost = true;
          return true;
        }
      }
      @Injectable()
      class Handlers {
        @Worker('single')
        @UseGuards(Slow)
        single() {
          ran += 1;
        }

        @Worker('batch', { batch: { size: 1 } })
        @UseGuards(Slow)
        batch() {
          ran += 1;
          return [];
        }
      }
      const client = await start([Handlers]);
      await client.run(kind, null);
      await eventually(() => expect(renew).toHaveBeenCalled());
      await new Promise(setImmediate);
      expect(ran).toBe(runs);
    },
  );

  it('does not begin behind a guard if the job was cancelled meanwhile', async () => {
    const ran: unknown[] = [];
    const guarding = gate();
    class Slow implements CanActivate {
      async canActivate(context: ExecutionContext): Promise<boolean> {
        const [input, { signal }] = context.getArgs<[unknown, RunningJob]>();
        guarding.open();
        if (input === 'slow') await once(signal, 'abort');
        return true;
      }
    }
    @Injectable()
    class Handlers {
      @Worker('guarded', { concurrency: 1 })
      @UseGuards(Slow)
      guarded(input: unknown) {
        ran.push(input);
      }
    }
    const client = await start([Handlers]);
    const slow = await client.run('guarded', 'slow');
    await guarding.passed;
    await slow.cancel();
    await client.call('guarded', 'next');
    expect(ran).toEqual(['next']);
  });

  it('runs jobs with the input and the running job', async () => {
    @Injectable()
    class Handlers {
      @Worker('up')
      up(input: string, job: RunningJob) {
        return `${input.toUpperCase()} ${job.fn} ${job.attempts}`;
      }
    }
    const client = await start([Handlers]);
    await expect(client.call('up', 'hello')).resolves.toBe('HELLO up 1');
  });

  it('may be a method of a controller', async () => {
    @Controller()
    class Handlers {
      @Worker('up')
      up(input: string) {
        return input.toUpperCase();
      }
    }
    const client = await start([], { controllers: [Handlers] });
    await expect(client.call('up', 'hello')).resolves.toBe('HELLO');
  });

  it('gets parameters by decorator, in any order and with pipes', async () => {
    const Attempts = createParamDecorator(
      (_: unknown, context: ExecutionContext) => context.getArgByIndex<RunningJob>(1).attempts,
    );
    @Injectable()
    class Handlers {
      @Worker('area')
      area(
        @CurrentJob() job: RunningJob,
        @Input('width', ParseIntPipe) width: number,
        @Input('height') height: number,
        @Attempts() attempts: number,
      ) {
        return { fn: job.fn, area: width * height, attempts };
      }
    }
    const client = await start([Handlers]);
    await expect(client.call('area', { width: '3', height: 4 })).resolves.toEqual({
      fn: 'area',
      area: 12,
      attempts: 1,
    });
    await expect(client.call('area', { width: 'x', height: 4 })).rejects.toThrow(
      'numeric string is expected',
    );
  });

  it('reports the progress of generators and observables, also with parameter decorators', async () => {
    @Injectable()
    class Handlers {
      @Worker('generator')
      async *generator(@Input() steps: number) {
        for (let step = 1; step <= steps; step++) yield progress(step, steps);
        return 'generated';
      }

      @Worker('observable')
      observable(steps: number): Observable<unknown> {
        return from([...Array.from({ length: steps }, (_, step) => progress(step + 1, steps)), 'observed']);
      }
    }
    const client = await start([Handlers]);
    for (const [fn, output] of [
      ['generator', 'generated'],
      ['observable', 'observed'],
    ] as const) {
      const seen: string[] = [];
      const watching = client
        .progress(fn)
        .subscribe(({ dividend, divisor }) => seen.push(`${dividend}/${divisor}`));
      await expect(client.call(fn, 3)).resolves.toBe(output);
      watching.unsubscribe();
      expect(seen).toEqual(['1/3', '2/3', '3/3']);
    }
  });

  it('runs inside guards, interceptors and filters, with its own context type and handler', async () => {
    const Role = (role: string) => SetMetadata('role', role);
    const seen: unknown[] = [];
    @Injectable()
    class Roles implements CanActivate {
      constructor(private readonly reflector: Reflector) {}
      canActivate(context: ExecutionContext): boolean {
        seen.push(context.getType(), context.getClass(), context.getHandler().name);
        return (
          this.reflector.get<string>('role', context.getHandler()) ===
          context.getArgByIndex<{ role: string }>(0).role
        );
      }
    }
    class Twice implements NestInterceptor {
      intercept(_: ExecutionContext, next: CallHandler) {
        return next.handle().pipe(map((value: string) => value + value));
      }
    }
    @Catch(RangeError)
    class Mild implements ExceptionFilter {
      catch(error: RangeError) {
        return of(`caught ${error.message}`);
      }
    }
    @Injectable()
    class Handlers {
      @Worker('guarded')
      @Role('admin')
      @UseGuards(Roles)
      @UseInterceptors(Twice)
      @UseFilters(Mild)
      guarded(input: { role: string; fail?: boolean }) {
        if (input.fail) throw new RangeError('it');
        return 'ab';
      }
    }
    const client = await start([Handlers, Roles]);
    await expect(client.call('guarded', { role: 'admin' })).resolves.toBe('abab');
    await expect(client.call('guarded', { role: 'guest' })).rejects.toThrow('Forbidden resource');
    await expect(client.call('guarded', { role: 'admin', fail: true })).resolves.toBe('caught it');
    expect(seen.slice(0, 3)).toEqual(['gearmonkey', Handlers, 'guarded']);
  });

  it.each([
    ['', {}],
    [', made for each job,', { scope: Scope.REQUEST }],
    [', shared by the jobs of a tenant,', { scope: Scope.REQUEST, durable: true }],
  ])('runs inside global guards%s only if the module says so', async (_, scope) => {
    @Injectable(scope)
    class Never implements CanActivate {
      canActivate() {
        return false;
      }
    }
    @Injectable()
    class Handlers {
      @Worker('open')
      open() {
        return 'ran';
      }
    }
    const providers = [Handlers, { provide: APP_GUARD, useClass: Never }];
    await expect((await start(providers)).call('open', null)).resolves.toBe('ran');
    await expect((await start(providers, { globalEnhancers: true })).call('open', null)).rejects.toThrow(
      'Forbidden',
    );
  });

  it.each([
    ['that stand for a request-scoped provider', Scope.REQUEST, true],
    ['of a transient class', Scope.TRANSIENT, false],
    ['that stand for one of a transient class', Scope.TRANSIENT, true],
  ])('runs inside global guards %s', async (_, scope, isAlias) => {
    @Injectable({ scope })
    class NotTwo implements CanActivate {
      readonly two = '2';
      canActivate(context: ExecutionContext) {
        return context.getArgByIndex<RunningJob>(1).id !== this.two;
      }
    }
    @Injectable()
    class Handlers {
      @Worker('open', { retry: { attempts: 1 } })
      open() {
        return 'ran';
      }
    }
    const guards = isAlias
      ? [NotTwo, { provide: APP_GUARD, useExisting: NotTwo }]
      : [{ provide: APP_GUARD, useClass: NotTwo }];
    const client = await start([Handlers, ...guards], { globalEnhancers: true });
    await expect(client.call('open', null)).resolves.toBe('ran');
    await expect(client.call('open', null)).rejects.toThrow('Forbidden');
  });

  it('runs inside global pipes, interceptors and filters that are made for each job, and know it', async () => {
    const made: string[] = [];
    class OfJob {
      constructor(@Inject(REQUEST) readonly job: RunningJob) {
        made.push(job.id);
      }
    }
    @Injectable({ scope: Scope.REQUEST })
    class Doubles extends OfJob implements PipeTransform {
      transform(value: number) {
        return value * 2;
      }
    }
    @Injectable({ scope: Scope.REQUEST })
    class Adds extends OfJob implements NestInterceptor {
      intercept(_: unknown, next: CallHandler<number>) {
        return next.handle().pipe(map((value) => value + Number(this.job.id)));
      }
    }
    @Injectable({ scope: Scope.REQUEST })
    @Catch(RangeError)
    class Catches extends OfJob implements ExceptionFilter {
      catch({ message }: RangeError) {
        return `${message} of job ${this.job.id}`;
      }
    }
    @Injectable()
    class Handlers {
      @Worker('count')
      count(@Input() input: number) {
        if (input === 0) throw new RangeError('none');
        return input;
      }
    }
    const kinds: [token: string, useClass: Type][] = [
      [APP_PIPE, Doubles],
      [APP_INTERCEPTOR, Adds],
      [APP_FILTER, Catches],
    ];
    const globals = kinds.map(([provide, useClass]) => ({ provide, useClass }));
    const client = await start([Handlers, ...globals], { globalEnhancers: true });
    await expect(client.call('count', 10)).resolves.toBe(21);
    await expect(client.call('count', 0)).resolves.toBe('none of job 2');
    expect(made).toEqual(['1', '1', '1', '2', '2', '2']);
  });

  it('gets its own request-scoped providers for each job', async () => {
    let created = 0;
    @Injectable({ scope: Scope.REQUEST })
    class PerJob {
      readonly number = (created += 1);
      constructor(@Inject(REQUEST) readonly job: RunningJob) {}
    }
    @Injectable()
    class Handlers {
      constructor(
        private readonly one: PerJob,
        private readonly same: PerJob,
      ) {}
      @Worker('scoped')
      scoped(input: string) {
        return [input, this.one.number, this.one === this.same, this.one.job.id];
      }
    }
    const client = await start([Handlers, PerJob]);
    await expect(client.call('scoped', 'a')).resolves.toEqual(['a', 1, true, '1']);
    await expect(client.call('scoped', 'b')).resolves.toEqual(['b', 2, true, '2']);
  });

  it('runs inside request-scoped guards, which are made for each job', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class OnlyTheFirst implements CanActivate {
      constructor(@Inject(REQUEST) private readonly job: RunningJob) {}
      canActivate() {
        return this.job.id === '1';
      }
    }
    @Injectable()
    class Handlers {
      @Worker('guarded', { retry: { attempts: 1 } })
      @UseGuards(OnlyTheFirst)
      guarded() {
        return 'ran';
      }
    }
    const client = await start([Handlers]);
    await expect(client.call('guarded', null)).resolves.toBe('ran');
    await expect(client.call('guarded', null)).rejects.toThrow('Forbidden');
  });

  it('gets what an input has itself, and nothing of its prototype', async () => {
    @Injectable()
    class Handlers {
      @Worker('own')
      own(@Input('constructor') inherited: unknown, @Input('width') width: unknown) {
        return [inherited === undefined, width];
      }
    }
    const client = await start([Handlers]);
    await expect(client.call('own', { width: 7 })).resolves.toEqual([true, 7]);
  });

  it('gets the AsyncLocalStorage of an interceptor, and not that of the enqueueing code', async () => {
    const storage = new AsyncLocalStorage<string>();
    class Store implements NestInterceptor {
      intercept(context: ExecutionContext, next: CallHandler) {
        const id = context.getArgByIndex<RunningJob>(1).id;
        return new Observable((subscriber) =>
          storage.run(`job ${id}`, () => next.handle().subscribe(subscriber)),
        );
      }
    }
    @Injectable()
    class Handlers {
      @Worker('stored')
      @UseInterceptors(Store)
      async *stored() {
        yield progress(1, 2);
        await Promise.resolve();
        return storage.getStore();
      }
      @Worker('bare')
      bare() {
        return storage.getStore() ?? 'none';
      }
    }
    const client = await start([Handlers]);
    await expect(client.call('stored', null)).resolves.toBe('job 1');
    await expect(storage.run('request', () => client.call('bare', null))).resolves.toBe('none');
  });

  it('can be watched until its job has finished', async () => {
    @Injectable()
    class Handlers {
      @Worker('watched')
      async watched(_: unknown, job: RunningJob) {
        await job.update(1, 2);
        return 'done';
      }
    }
    const client = await start([Handlers]);
    const { id } = await client.run('watched', null);
    const snapshots = await firstValueFrom(client.watch('watched', id).pipe(toArray()));
    expect(snapshots.at(-1)).toMatchObject({
      state: 'succeeded',
      output: 'done',
      progress: { dividend: 1, divisor: 2 },
    });
  });
});
