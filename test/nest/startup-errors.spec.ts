import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, Scope, type ModuleMetadata, type Type } from '@nestjs/common';
import {
  ConfigurationError,
  CurrentJob,
  GearMonkeyClient,
  GearMonkeyModule,
  Input,
  InvalidFunctionNameError,
  InvalidOptionError,
  OnFinish,
  RunningJob,
  Worker,
  type GearMonkeyModuleAsyncOptions,
  type GearMonkeyModuleOptions,
} from 'nestjs-gearmonkey';
import { EmbeddedSource } from '../embedded/embedded-store.js';
import { noDurations } from '../support/no-durations.js';
import { useApps } from '../support/use-apps.js';

const source = new EmbeddedSource();
const memory = () => GearMonkeyModule.forRoot({ connection: 'memory:' });

describe('a decorator in the wrong place', () => {
  it('is on one method twice', () => {
    expect(() => {
      class Twice {
        @Worker('one')
        @Worker('two')
        both() {}
      }
      return Twice;
    }).toThrow(new ConfigurationError('@Worker is on Twice.both twice. Use one method for each function.'));
  });

  it('is on a property, a static method or an accessor', () => {
    const decorate = (target: object, name: string) =>
      (Worker('fn') as (target: object, name: string, descriptor: object) => void)(target, name, {});
    class Misplaced {
      property = 1;
      static fixed() {}
      get computed() {
        return 1;
      }
    }
    expect(() => decorate(Misplaced.prototype, 'property')).toThrow(
      '@Worker is on Misplaced.property, which is not a method',
    );
    expect(() => decorate(Misplaced, 'fixed')).toThrow('@Worker is on Misplaced.fixed, which is static');
    expect(() => decorate(Misplaced.prototype, 'computed')).toThrow(ConfigurationError);
  });

  it('is on a method whose name is a symbol, which Nest does not find', () => {
    const run = Symbol('run');
    expect(() => {
      class Hidden {
        @Worker('fn')
        [run]() {}
      }
      return Hidden;
    }).toThrow('@Worker is on Hidden.Symbol(run), whose name is a symbol, and Nest finds names of text only');
  });

  it("is compiled as one of JavaScript's own decorators", () => {
    const decorator = Worker('fn') as unknown as (method: () => void, context: object) => void;
    expect(() => decorator(() => undefined, { kind: 'method', name: 'resize' })).toThrow(
      'Set "experimentalDecorators": true',
    );
    const observer = OnFinish('fn') as unknown as typeof decorator;
    expect(() => observer(() => undefined, { kind: 'method', name: 'resize' })).toThrow(ConfigurationError);
  });

  it.each(['', 'two words', 'line\nfeed', 'a{b', 'x'.repeat(1024), 7])(
    'has the invalid function name %j',
    (name) => {
      expect(() => Worker(name as string)({}, 'method', {})).toThrow(InvalidFunctionNameError);
      expect(() => OnFinish(name as string)({}, 'method', {})).toThrow(InvalidFunctionNameError);
    },
  );
});

/** Replaces the method, as many decorators do, and forgets its metadata. */
const Traced = (_target: object, _method: string, descriptor: PropertyDescriptor) => {
  const { value } = descriptor as { value: (...args: unknown[]) => unknown };
  descriptor.value = function (this: unknown, ...args: unknown[]) {
    return value.apply(this, args);
  };
};

describe('an app does not start', () => {
  it('with a decorated method that another decorator has replaced', async () => {
    class Base {
      @Traced
      @Worker('fn')
      run() {}
    }
    @Injectable()
    class Handlers extends Base {}
    const refused = starting({ imports: [memory()], providers: [Handlers] });
    await expect(refused).rejects.toThrow(ConfigurationError);
    await expect(refused).rejects.toThrow(
      'Base.run has lost its @Worker: another decorator or a spy has replaced the method without its metadata. Write @Worker above the other decorator',
    );
    @Injectable()
    class Observers {
      @Traced
      @OnFinish('fn')
      finished() {}
    }
    await expect(starting({ imports: [memory()], providers: [Observers] })).rejects.toThrow(
      'Observers.finished has lost its @OnFinish',
    );
  });

  const apps = useApps();
  const starting = (metadata: ModuleMetadata) => apps.start(metadata).then(() => 'started');
  const withProviders = (...providers: Type[]) => starting({ imports: [memory()], providers });

  it('with two handlers of one function in one instance', async () => {
    @Injectable()
    class Thumbnails {
      @Worker('resize')
      small() {}
    }
    @Injectable()
    class Posters {
      @Worker('resize')
      large() {}
    }
    const refused = withProviders(Thumbnails, Posters);
    await expect(refused).rejects.toThrow(ConfigurationError);
    await expect(refused).rejects.toThrow('Thumbnails.small and Posters.large both handle "resize"');
  });

  it('with a class of handlers that two modules provide', async () => {
    @Injectable()
    class Thumbnails {
      @Worker('resize')
      small() {}
    }
    @Module({ providers: [Thumbnails] })
    class Other {}
    await expect(starting({ imports: [memory(), Other], providers: [Thumbnails] })).rejects.toThrow(
      'Thumbnails.small, whose class is provided by two modules',
    );
  });

  it('with a handler that takes the running job first without decorators', () => {
    const define = () => {
      class Thumbnails {
        @Worker('resize')
        small(job: RunningJob, input: string) {
          return [job, input];
        }
      }
      return Thumbnails;
    };
    expect(define).toThrow(ConfigurationError);
    expect(define).toThrow('Thumbnails.small takes the RunningJob first, but a handler gets the input first');
    class Accepted {
      @Worker('resize')
      small(@CurrentJob() job: RunningJob, @Input() input: string) {
        return [job, input];
      }
    }
    expect(Accepted.name).toBe('Accepted');
  });

  it('with a handler or an observer whose instance does not exist', async () => {
    @Injectable()
    class Handlers {
      @Worker('old', { instance: 'legacy' })
      old() {}
    }
    @Injectable()
    class Observers {
      @OnFinish('old', { instance: 'legacy' })
      finished() {}
    }
    await expect(withProviders(Handlers)).rejects.toThrow(
      '@Worker on Handlers.old belongs to the instance "legacy", but there is no such GearMonkeyModule (known: "default")',
    );
    await expect(withProviders(Observers)).rejects.toThrow(
      'Observers.finished belongs to the instance "legacy"',
    );
  });

  it('with a handler or an observer on a transient-scoped class', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Handlers {
      @Worker('fn')
      run() {}
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class Observers {
      @OnFinish('fn')
      finished() {}
    }
    await expect(withProviders(Handlers)).rejects.toThrow(
      'Handlers.run has no instance to run on, because its class is transient-scoped',
    );
    await expect(withProviders(Observers)).rejects.toThrow(ConfigurationError);
  });

  it.each([0, -1, 1.5, Number.NaN, Infinity, '3'])('with concurrency %p', async (concurrency) => {
    @Injectable()
    class Handlers {
      @Worker('fn', { concurrency: concurrency as number })
      run() {}
    }
    const refused = withProviders(Handlers);
    await expect(refused).rejects.toThrow(InvalidOptionError);
    await expect(refused).rejects.toThrow(
      'Expected `concurrency of Handlers.run` to be a whole number, 1 or more',
    );
  });

  it('with two instances of one name', async () => {
    await expect(starting({ imports: [memory(), memory()] })).rejects.toThrow('imported twice as "default"');
    const named = () => GearMonkeyModule.forRoot({ connection: 'memory:', name: 'legacy' });
    await expect(starting({ imports: [memory(), named(), named()] })).rejects.toThrow('twice as "legacy"');
  });

  const startingWith = (options: unknown) =>
    starting({ imports: [GearMonkeyModule.forRoot(options as GearMonkeyModuleOptions)] });

  it.each([
    ['neither connection nor source', {}, 'needs either `connection` or `source`'],
    ['a connection that is not set', { connection: undefined }, '`connection` is undefined here'],
    ['a connection that is null', { connection: null }, '`connection` is null here'],
    ['both connection and source', { connection: 'memory:', source }, 'both `connection` and `source`'],
    ['a source that was not called', { source: function qless() {} }, 'call it: `source: qless({ … })`?'],
    [
      'a source of another kind',
      { source: { claim: source.claim } },
      'lacks open(), renew(), progress(), settle()',
    ],
    ['no options', undefined, 'are not an object'],
    ['a URL instead of options', 'redis://u:s3cret@127.0.0.1', 'Write them as { connection: … }'],
  ])('with %s', async (_, options, message) => {
    const refused = startingWith(options);
    await expect(refused).rejects.toThrow(ConfigurationError);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.not.toThrow('s3cret');
  });

  it.each([
    ['hashTag', true],
    ['hashTag', false],
    ['enqueueTimeout', '2s'],
    ['durability', 'wait'],
    ['waitReplicas', 2],
    ['lease', 5000],
    ['pollInterval', '5s'],
    ['maxStalls', 3],
  ])('with `%s` but without Redis', async (option, value) => {
    const given = `has \`${option}: ${typeof value === 'string' ? `'${value}'` : value}\``;
    for (const [options, why] of [
      [{ connection: 'memory:' }, "the connection is 'memory:'"],
      [{ connection: 'memory:shared' }, "the connection is 'memory:shared'"],
      [{ source }, 'the jobs come from a `source`'],
    ] as const) {
      const refused = startingWith({ ...options, [option]: value });
      await expect(refused).rejects.toThrow(ConfigurationError);
      await expect(refused).rejects.toThrow(`${given}, but ${why}, and only Redis has that option`);
      await expect(refused).rejects.toThrow(`{ connection: 'redis://…', ${option}: … }`);
      await expect(startingWith({ ...options, [option]: undefined })).resolves.toBe('started');
    }
  });

  it('with a Redis option that cannot be converted to text, but without Redis', async () => {
    const refuse = (): never => {
      throw new Error('not to be asked');
    };
    for (const value of [Object.create(null), { toString: refuse }, new Proxy({}, { get: refuse })])
      await expect(startingWith({ connection: 'memory:', lease: value })).rejects.toThrow(
        "has `lease: an object`, but the connection is 'memory:'",
      );
  });

  it.each(['shutdownTimeout', 'enqueueTimeout', 'lease', 'jobLimits.timeout'])(
    'with a `%s` that is no duration',
    async (option) => {
      for (const [, value] of noDurations()) {
        const given =
          option === 'jobLimits.timeout' ? { jobLimits: { timeout: value } } : { [option]: value };
        const least = option === 'lease' ? 'at least 2000 ms' : 'more than 0 ms';
        await expect(startingWith({ connection: 'redis://127.0.0.1:1', ...given })).rejects.toThrow(
          `Expected \`${option}\` to be ${least} and at most 24 days`,
        );
      }
    },
  );

  it.each([
    ['a function', () => 'redis://127.0.0.1:1'],
    ['a Promise', Promise.resolve('redis://127.0.0.1:1')],
    ['a String object', new String('redis://127.0.0.1:1')],
  ])('with a connection that is %s', async (kind, connection) => {
    await expect(startingWith({ connection })).rejects.toThrow(
      `\`connection\` of GearMonkeyModule "default" is ${kind}`,
    );
  });

  it.each(['', 7, null, Symbol('name')])('with the name %p', async (name) => {
    const refused = startingWith({ connection: 'memory:', name });
    await expect(refused).rejects.toThrow(InvalidOptionError);
    await expect(refused).rejects.toMatchObject({ option: 'name' });
  });

  it.each([
    ['nothing', undefined, 'The options of GearMonkeyModule.forRootAsync are not an object'],
    ['null', null, 'The options of GearMonkeyModule.forRootAsync are not an object'],
    ['no way to options', {}, 'needs exactly one of `useFactory`, `useClass` and `useExisting`, but has 0'],
    ['two ways', { useFactory: () => ({}), useClass: Date }, 'but has 2'],
    [
      'options beside the factory',
      { connection: 'memory:', useFactory: () => ({}) },
      'has no option `connection`',
    ],
    ['a factory that is none', { useFactory: { connection: 'memory:' } }, '`useFactory` of'],
    ['a class that is none', { useClass: 7 }, '`useClass` of'],
    ['a class without the method', { useClass: class {} }, 'has no method createGearMonkeyOptions()'],
    ['a factory that returns nothing', { useFactory: () => undefined }, 'are not an object'],
    ['a factory that returns a module', { useFactory: () => memory() }, 'has no option `module`'],
  ])('with forRootAsync and %s', async (_, options, message) => {
    const forRoot = GearMonkeyModule.forRootAsync(options as GearMonkeyModuleAsyncOptions);
    const refused = starting({ imports: [forRoot] });
    await expect(refused).rejects.toThrow(ConfigurationError);
    await expect(refused).rejects.toThrow(message);
  });

  it('with forFeature and no list', async () => {
    const feature = GearMonkeyModule.forFeature(undefined as unknown as []);
    await expect(starting({ imports: [memory(), feature] })).rejects.toThrow('takes a list of definitions');
  });

  it.each([[[]], [[{ connection: 'memory:' }]]])('with a client made with new: %j', (given) => {
    expect(
      () => new GearMonkeyClient(...(given as unknown as ConstructorParameters<typeof GearMonkeyClient>)),
    ).toThrow("A GearMonkeyClient can't be made with `new`");
  });

  it('with a `name` among the options that a factory makes', async () => {
    const useFactory = () => ({ connection: 'memory:' as const, name: 'legacy' });
    await expect(starting({ imports: [GearMonkeyModule.forRootAsync({ useFactory })] })).rejects.toThrow(
      'Write it beside `useFactory`',
    );
  });

  it.each([
    'redis//:s3cret@127.0.0.1',
    'http://u:s3cret@127.0.0.1',
    'redis://:s3cret@127.0.0.1:99999',
    'redis://',
    's3cret@localhost:6379',
    '',
  ])('with the URL %j, which is not repeated', async (connection) => {
    const refused = starting({ imports: [GearMonkeyModule.forRoot({ connection })] });
    await expect(refused).rejects.toThrow("is not a URL like 'redis://127.0.0.1:6379'");
    await expect(refused).rejects.not.toThrow('s3cret');
  });

  it.each([
    ['codec', { codec: 'xml' }],
    ['codec', { codec: { encode: JSON.stringify } }],
    ['codec', { codec: true }],
    ['shutdownTimeout', { shutdownTimeout: '0s' }],
    ['shutdownTimeout', { shutdownTimeout: 'soon' }],
    ['enqueueTimeout', { enqueueTimeout: -1 }],
    ['maxPayloadBytes', { maxPayloadBytes: 0 }],
    ['maxPayloadBytes', { maxPayloadBytes: Number.NaN }],
    ['maxPayloadBytes', { maxPayloadBytes: '1000' }],
    ['maxPayloadBytes', { maxPayloadBytes: Symbol('size') }],
    ['hashTag', { hashTag: 'false' }],
    ['globalEnhancers', { globalEnhancers: 0 }],
    ['durability', { durability: 'waits' }],
    ['durability', { durability: true }],
    ['enqueueTimeout', { enqueueTimeout: 'soon' }],
    ['maxStalls', { maxStalls: -1 }],
    ['maxStalls', { maxStalls: 0.5 }],
    ['errorDetail', { errorDetail: 'all' }],
    ['jobLimits.attempts', { jobLimits: { attempts: 0 } }],
    ['jobLimits.timeout', { jobLimits: { timeout: 'never' } }],
    ['lease', { lease: 'soon' }],
    ['lease', { lease: '1999ms' }],
    ['lease', { lease: '19s', pollInterval: '5s' }],
    ['pollInterval', { pollInterval: 50 }],
    ['waitReplicas', { waitReplicas: 0 }],
    ['waitReplicas', { waitReplicas: '1' }],
  ])('with a bad %s: %j', async (option, options) => {
    const connection = 'redis://127.0.0.1:1';
    const refused = starting({
      imports: [GearMonkeyModule.forRoot({ connection, ...options } as GearMonkeyModuleOptions)],
    });
    await expect(refused).rejects.toThrow(InvalidOptionError);
    await expect(refused).rejects.toMatchObject({ option });
  });
});
