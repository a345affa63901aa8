import { afterEach, describe, expect, it } from '@jest/globals';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { Injectable, Module, Scope, type ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  ConfigurationError,
  GearMonkeyClient,
  GearMonkeyModule,
  GearMonkeyWorkers,
  InvalidOptionError,
  OnFinish,
  Worker,
} from 'nestjs-gearmonkey';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';

const apps = useApps();
const gearmonkey = (name?: string) => GearMonkeyModule.forRoot({ connection: 'memory:', name });

/** How many jobs of each function run at a time in an app of these. */
async function concurrencyIn(metadata: ModuleMetadata): Promise<Record<string, number>> {
  const app = await apps.start({
    ...metadata,
    imports: [gearmonkey(), gearmonkey('other'), ...(metadata.imports ?? [])],
  });
  const running = app.get(GearMonkeyWorkers).list();
  return Object.fromEntries(running.map(({ fn, concurrency }) => [fn, concurrency]));
}

/** A configuration with these values, as of environment and .env. */
const configuration = (values: Record<string, unknown>) =>
  ConfigModule.forRoot({ ignoreEnvFile: true, ignoreEnvVars: true, load: [() => values] });

afterEach(() => {
  delete process.env['RESIZE'];
});

@Injectable()
class Resizing {
  @Worker('resize', (config: ConfigService) => ({ concurrency: config.get('RESIZE') }))
  resize() {}
}

describe('options of @Worker that are a function', () => {
  it.each([
    ['a number', 7, 7],
    ['text, as an environment has it', '7', 7],
    ['nothing, which is the default', undefined, 1],
    ['empty text, which says nothing', '', 1],
  ])('of ConfigService may find %s', async (_, RESIZE, expected) => {
    await expect(
      concurrencyIn({ imports: [configuration({ RESIZE })], providers: [Resizing] }),
    ).resolves.toEqual({ resize: expected });
  });

  it('read the environment when the app starts, and not when the class is loaded', async () => {
    process.env['RESIZE'] = '4';
    await expect(
      concurrencyIn({ imports: [ConfigModule.forRoot({ ignoreEnvFile: true })], providers: [Resizing] }),
    ).resolves.toEqual({ resize: 4 });
  });

  it('take nothing where they read something else, and need no ConfigService then', async () => {
    @Injectable()
    class Reading {
      @Worker('reading', async () => ({ concurrency: Number(process.env['RESIZE']), timeout: '30s' }))
      run() {}
    }
    process.env['RESIZE'] = '6';
    await expect(concurrencyIn({ providers: [Reading] })).resolves.toEqual({ reading: 6 });
  });

  it('are given what a test puts in the place of ConfigService', async () => {
    const stand = { get: () => '9' };
    await expect(
      concurrencyIn({ providers: [Resizing, { provide: ConfigService, useValue: stand }] }),
    ).resolves.toEqual({ resize: 9 });
    const module = await Test.createTestingModule({
      imports: [gearmonkey(), configuration({ RESIZE: 2 })],
      providers: [Resizing],
    })
      .overrideProvider(ConfigService)
      .useValue(stand)
      .compile();
    await module.init();
    expect(module.get(GearMonkeyWorkers).list()).toMatchObject([{ fn: 'resize', concurrency: 9 }]);
    await module.close();
  });

  it('say what to import where there is no ConfigService', async () => {
    const starting = concurrencyIn({ providers: [Resizing] });
    await expect(starting).rejects.toThrow(ConfigurationError);
    await expect(starting).rejects.toThrow(
      'The options of @Worker on Resizing.resize are a function of the configuration, and this app has no ConfigService. Import ConfigModule.forRoot() of @nestjs/config',
    );
  });

  it.each([
    ['a typing error', { concurency: 2 }, ConfigurationError, 'Did you mean `concurrency`?'],
    ['no object', 7, ConfigurationError, 'are not an object'],
    [
      'an instance, which has to be known before',
      { instance: 'other' },
      ConfigurationError,
      'Write it beside',
    ],
    ['text that is no number', { concurrency: 'many' }, InvalidOptionError, 'concurrency of Wrong.run'],
    ['no concurrency at all', { concurrency: 0 }, InvalidOptionError, 'a whole number, 1 or more'],
    ['a timeout without a unit', { timeout: '30' }, InvalidOptionError, 'timeout of Wrong.run'],
    ['text that is neither true nor false', { enabled: 'off' }, InvalidOptionError, 'enabled of Wrong.run'],
  ])('are refused where they make %s', async (_, made, error, said) => {
    @Injectable()
    class Wrong {
      @Worker('wrong', () => made as object)
      run() {}
    }
    const starting = concurrencyIn({ providers: [Wrong] });
    await expect(starting).rejects.toThrow(error);
    await expect(starting).rejects.toThrow(said);
  });
});

describe('options of @Worker from a factory', () => {
  @Injectable()
  class Settings {
    readonly resize = 5;
  }
  @Module({ providers: [Settings], exports: [Settings] })
  class SettingsModule {}
  @Injectable()
  class Factories {
    @Worker('resize', {
      inject: [Settings, 'FACTOR', { token: 'ABSENT', optional: true }],
      useFactory: async ({ resize }: Settings, factor: number, absent?: number) => ({
        concurrency: resize * factor + (absent ?? 0),
      }),
    })
    resize() {}
    @Worker('elsewhere', { instance: 'other', useFactory: () => ({ concurrency: 2 }) })
    elsewhere() {}
  }

  it('get what the class itself could inject, and may belong to another instance', async () => {
    await expect(
      concurrencyIn({
        imports: [SettingsModule],
        providers: [Factories, { provide: 'FACTOR', useValue: 2 }],
      }),
    ).resolves.toEqual({ resize: 10, elsewhere: 2 });
  });

  it('are refused by Nest, by name, where something is missing', async () => {
    await expect(concurrencyIn({ imports: [SettingsModule], providers: [Factories] })).rejects.toThrow(
      /options of @Worker on Factories\.resize \(Settings, \?/,
    );
  });

  it('can not have what is made for each request', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {}
    @Injectable()
    class Wrong {
      @Worker('wrong', { inject: [Scoped], useFactory: () => ({}) })
      run() {}
    }
    await expect(concurrencyIn({ providers: [Scoped, Wrong] })).rejects.toThrow('request');
  });

  it.each([undefined, null])(
    'name what they inject where that is %s, as in a cycle of files',
    async (missing) => {
      @Injectable()
      class Wrong {
        @Worker('wrong', { inject: [missing as never], useFactory: () => ({}) })
        run() {}
      }
      const starting = concurrencyIn({ providers: [Wrong] });
      await expect(starting).rejects.toThrow('options of @Worker on Wrong.run');
    },
  );

  it('may be an object of a class, with getters of its prototype', async () => {
    class Settings {
      get concurrency() {
        return 6;
      }
    }
    class Paused {
      get enabled() {
        return false;
      }
    }
    @Injectable()
    class Handlers {
      @Worker('fixed', new Settings())
      fixed() {}
      @Worker('made', () => new Settings())
      made() {}
      @Worker('off', new Paused())
      off() {}
      @Worker('made-off', () => new Paused())
      madeOff() {}
    }
    @Injectable()
    class Adding {
      constructor(private readonly workers: GearMonkeyWorkers) {}
      async onModuleInit() {
        await this.workers.add('added', () => undefined, new Settings());
      }
    }
    await expect(concurrencyIn({ providers: [Handlers, Adding] })).resolves.toEqual({
      fixed: 6,
      made: 6,
      added: 6,
    });
  });

  it.each([
    ['no function', { useFactory: {} }, '`useFactory` of @Worker must be a function'],
    ['options of its own', { useFactory: () => ({}), concurrency: 2 }, '@Worker has no option `concurrency`'],
    [
      'one provider without a list',
      { inject: Scope, useFactory: () => ({}) },
      '`inject` of @Worker must be a',
    ],
    ['null for a list', { inject: null, useFactory: () => ({}) }, '`inject` of @Worker must be a list'],
  ])('are refused with %s', (_, options, said) => {
    expect(() => {
      class Wrong {
        @Worker('wrong', options as never)
        run() {}
      }
      return Wrong;
    }).toThrow(said);
  });
});

describe('`enabled: false`', () => {
  const off = (enabled: unknown) => ({ enabled }) as { enabled: boolean };

  it.each([
    ['written down', false],
    ['of a configuration', (_config: ConfigService) => off(false)],
    ['in text, as an environment has it', () => off('false')],
  ])('%s leaves a handler out, and another may take its place', async (_, options) => {
    @Injectable()
    class Old {
      @Worker('mail', typeof options === 'function' ? options : off(options))
      mail() {}
    }
    @Injectable()
    class New {
      @Worker('mail', { concurrency: 8, enabled: true })
      mail() {}
    }
    const imports = [configuration({})];
    await expect(concurrencyIn({ imports, providers: [Old] })).resolves.toEqual({});
    await expect(concurrencyIn({ imports, providers: [Old, New] })).resolves.toEqual({ mail: 8 });
  });

  it('is refused as text in a decorator', async () => {
    @Injectable()
    class Wrong {
      @Worker('mail', off('false'))
      mail() {}
    }
    await expect(concurrencyIn({ providers: [Wrong] })).rejects.toThrow('enabled of Wrong.mail');
  });

  it('leaves observers out, be it written down or of a configuration', async () => {
    const seen: string[] = [];
    @Injectable()
    class Observers {
      @OnFinish('job', { enabled: false })
      written() {
        seen.push('written');
      }
      @OnFinish('job', (config: ConfigService) => ({ enabled: config.get('AUDIT') }))
      configured() {
        seen.push('configured');
      }
      @OnFinish('job', {
        inject: [ConfigService],
        useFactory: (config: ConfigService) => ({ enabled: !config.get('OFF') }),
      })
      kept() {
        seen.push('kept');
      }
    }
    @Injectable()
    class Handlers {
      @Worker('job')
      run() {}
    }
    const imports = [gearmonkey(), configuration({ AUDIT: 'false' })];
    const app = await apps.start({ imports, providers: [Observers, Handlers] });
    await app.get(GearMonkeyClient).call('job', null);
    await eventually(() => expect(seen).toEqual(['kept']));
  });
});
