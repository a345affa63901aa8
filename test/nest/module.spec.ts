import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, type Type } from '@nestjs/common';
import { Redis } from 'ioredis';
import { z } from 'zod';
import {
  GearMonkeyClient,
  GearMonkeyModule,
  InjectGearMonkey,
  UnknownFunctionError,
  ValidationError,
  Worker,
  defineJob,
  getGearMonkeyClientToken,
  type ConnectionSpec,
  type GearMonkeyModuleOptions,
  type GearMonkeyOptionsFactory,
} from 'nestjs-gearmonkey';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

@Injectable()
class Upper {
  @Worker('upper')
  upper(text: string) {
    return text.toUpperCase();
  }
}

@Injectable()
class Settings implements GearMonkeyOptionsFactory {
  createGearMonkeyOptions(): GearMonkeyModuleOptions {
    return { connection: 'memory:', codec: 'text' };
  }
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

describe('GearMonkeyModule.forRoot', () => {
  const apps = useApps();

  it('makes the client injectable in every module, and runs handlers', async () => {
    @Injectable()
    class Shop {
      constructor(readonly jobs: GearMonkeyClient) {}
    }
    @Module({ providers: [Shop] })
    class ShopModule {}
    const app = await apps.start({
      imports: [ShopModule, GearMonkeyModule.forRoot({ connection: 'memory:' })],
      providers: [Upper],
    });
    await expect(app.get(Shop, { strict: false }).jobs.call('upper', 'a')).resolves.toBe('A');
  });

  it('gives instances of different names clients and handlers of their own', async () => {
    @Injectable()
    class Handlers {
      @Worker('who')
      here() {
        return 'default';
      }
      @Worker('who', { instance: 'legacy' })
      there() {
        return 'legacy';
      }
    }
    @Injectable()
    class Shop {
      constructor(
        readonly jobs: GearMonkeyClient,
        @InjectGearMonkey('legacy') readonly legacy: GearMonkeyClient,
      ) {}
    }
    const app = await apps.start({
      imports: [
        GearMonkeyModule.forRoot({ connection: 'memory:' }),
        GearMonkeyModule.forRoot({ connection: 'memory:', name: 'legacy' }),
      ],
      providers: [Handlers, Shop],
    });
    const { jobs, legacy } = app.get(Shop);
    await expect(jobs.call('who', null)).resolves.toBe('default');
    await expect(legacy.call('who', null)).resolves.toBe('legacy');
    expect(app.get(getGearMonkeyClientToken('legacy'), { strict: false })).toBe(legacy);
  });

  it("keeps jobs of 'memory:' in the instance, and shares those of 'memory:NAME' in the process", async () => {
    const appOn = (connection: string, providers: Type[] = []) =>
      apps.start({ imports: [GearMonkeyModule.forRoot({ connection })], providers });
    await appOn('memory:shared-by-two', [Upper]);
    const other = (await appOn('memory:shared-by-two')).get(GearMonkeyClient);
    await expect(other.call('upper', 'b', { rollCall: true })).resolves.toBe('B');
    const alone = (await appOn('memory:')).get(GearMonkeyClient);
    await expect(alone.rollCall('upper')).rejects.toThrow('No worker is registered for "upper"');
  });
});

describe('GearMonkeyModule.forRootAsync', () => {
  const apps = useApps();

  it.each([
    [
      'useFactory with inject',
      GearMonkeyModule.forRootAsync({
        imports: [SettingsModule],
        inject: [Settings],
        useFactory: async (settings: Settings) => settings.createGearMonkeyOptions(),
      }),
    ],
    ['useClass', GearMonkeyModule.forRootAsync({ useClass: Settings })],
    ['useExisting', GearMonkeyModule.forRootAsync({ imports: [SettingsModule], useExisting: Settings })],
  ])('takes its options from %s', async (_, module) => {
    const app = await apps.start({ imports: [module], providers: [Upper] });
    const client = app.get(GearMonkeyClient);
    await expect(client.call('upper', 'text')).resolves.toBe('TEXT');
    await expect(client.run('upper', 1)).rejects.toThrow("can't be written as text");
  });

  it('takes a name, for instances side by side', async () => {
    const app = await apps.start({
      imports: [
        GearMonkeyModule.forRootAsync({ useClass: Settings }),
        GearMonkeyModule.forRootAsync({ name: 'second', useFactory: () => ({ connection: 'memory:' }) }),
      ],
    });
    await expect(
      app.get<GearMonkeyClient>(getGearMonkeyClientToken('second')).run('any', 1),
    ).resolves.toMatchObject({
      id: '1',
    });
  });
});

describe('GearMonkeyModule.forFeature', () => {
  const apps = useApps();
  const shout = defineJob<string, string>('shout', { codec: 'text' });
  const mail = defineJob('mail', { input: z.object({ to: z.email() }) });

  @Injectable()
  class Root {
    constructor(readonly jobs: GearMonkeyClient) {}
  }
  @Injectable()
  class Feature {
    constructor(readonly jobs: GearMonkeyClient) {}
  }
  @Module({ imports: [GearMonkeyModule.forFeature([shout, mail])], providers: [Feature] })
  class FeatureModule {}
  @Injectable()
  class Handlers {
    @Worker('upper')
    upper(text: string) {
      return text.toUpperCase();
    }
    @Worker(shout)
    shout(text: string) {
      return `${text}!`;
    }
  }

  async function start() {
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: 'memory:' }), FeatureModule],
      providers: [Handlers, Root],
    });
    return { root: app.get(Root).jobs, feature: app.select(FeatureModule).get(Feature).jobs };
  }

  it('refuses any other function, and does not change the client of the root module', async () => {
    const { root, feature } = await start();
    const refused = feature.run('upper', 'a');
    await expect(refused).rejects.toThrow(UnknownFunctionError);
    await expect(refused).rejects.toMatchObject({ code: 'UNKNOWN_FUNCTION', fn: 'upper' });
    await expect(feature.get('upper', 1)).rejects.toThrow('This client is for shout, mail only');
    await expect(feature.rollCall('upper')).rejects.toThrow(UnknownFunctionError);
    expect(() => feature.events('upper')).toThrow(UnknownFunctionError);
    await expect(root.call('upper', 'a')).resolves.toBe('A');
  });

  it('applies codec and schema of a definition where only its name is given', async () => {
    const { root, feature } = await start();
    for (const client of [feature, root]) {
      await expect(client.call('shout', '"quoted"')).resolves.toBe('"quoted"!');
      await expect(client.run('shout', { not: 'text' })).rejects.toThrow("can't be written as text");
      await expect(client.run('mail', { to: 'nobody' })).rejects.toThrow(ValidationError);
      await expect(client.run('mail', { to: 'a@b.org' })).resolves.toMatchObject({ fn: 'mail' });
    }
  });

  it('belongs to the instance it names', async () => {
    @Injectable()
    class Legacy {
      constructor(@InjectGearMonkey('legacy') readonly jobs: GearMonkeyClient) {}
    }
    @Module({ imports: [GearMonkeyModule.forFeature([shout], 'legacy')], providers: [Legacy] })
    class LegacyModule {}
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: 'memory:', name: 'legacy' }), LegacyModule],
    });
    const { jobs } = app.select(LegacyModule).get(Legacy);
    await expect(jobs.run(shout, 'a')).resolves.toMatchObject({ fn: 'shout', id: '1' });
    await expect(jobs.run('upper', 'a')).rejects.toThrow(UnknownFunctionError);
  });

  it('refuses another definition of the same name', async () => {
    const other = defineJob<number, number>('shout');
    const starting = apps.start({
      imports: [
        GearMonkeyModule.forRoot({ connection: 'memory:' }),
        FeatureModule,
        GearMonkeyModule.forFeature([other]),
      ],
    });
    await expect(starting).rejects.toThrow('"shout" is defined twice');
  });
});

describe('the options of GearMonkeyModule.forRoot', () => {
  const apps = useApps();

  it('may be an object of a class, and are read only once', async () => {
    let reads = 0;
    class Options {
      get connection() {
        reads += 1;
        return reads === 1 ? 'memory:' : 'redis://127.0.0.1:1';
      }
    }
    const imports = [GearMonkeyModule.forRoot(new Options())];
    const app = await apps.start({ imports, providers: [Upper] });
    await expect(app.get(GearMonkeyClient).call('upper', 'once')).resolves.toBe('ONCE');
    expect(reads).toBe(1);
  });

  it('may have `source: null` beside a connection', async () => {
    const options = { connection: 'memory:', source: null } as unknown as GearMonkeyModuleOptions;
    const app = await apps.start({ imports: [GearMonkeyModule.forRoot(options)], providers: [Upper] });
    await expect(app.get(GearMonkeyClient).call('upper', 'a')).resolves.toBe('A');
  });
});

describe('the connection of GearMonkeyModule.forRoot', () => {
  const apps = useApps();
  const used = useRedis();

  async function upperOn(connection: ConnectionSpec) {
    const app = await apps.start({ imports: [GearMonkeyModule.forRoot({ connection })], providers: [Upper] });
    return { app, client: app.get(GearMonkeyClient) };
  }

  it('is a URL', async () => {
    const { client } = await upperOn(used.url);
    await expect(client.call('upper', 'url')).resolves.toBe('URL');
  });

  it('is the options of ioredis', async () => {
    const { client } = await upperOn({ host: '127.0.0.1', port: used.port, db: 3, keyPrefix: '' });
    await client.call('upper', 'options');
    const third = used.redis.duplicate({ db: 3 });
    await expect(third.get('uid:upper')).resolves.toBe('1');
    third.disconnect();
  });

  it('is a client of ioredis, which is left open', async () => {
    const redis = new Redis(used.url);
    const { app, client } = await upperOn(redis);
    await expect(client.call('upper', 'client')).resolves.toBe('CLIENT');
    await app.close();
    await expect(redis.ping()).resolves.toBe('PONG');
    redis.disconnect();
  });
});
