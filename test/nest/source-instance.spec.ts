import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Inject,
  Injectable,
  Module,
  Optional,
  Scope,
  forwardRef,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  ConfigurationError,
  GearMonkeyClient,
  GearMonkeyHealth,
  GearMonkeyModule,
  InjectGearMonkey,
  OnFinish,
  Worker,
  defineJob,
  getGearMonkeyClientToken,
  type JobSource,
} from 'nestjs-gearmonkey';
import { jobd } from '../../lib/jobd/index.js';
import { SILENT } from '../../lib/jobd/vocabulary/logging.js';
import { jq } from '../../lib/jq/index.js';
import { EmbeddedSource } from '../embedded/embedded-store.js';
import { qless } from '../../lib/qless/index.js';
import { useApps } from '../support/use-apps.js';

const apps = useApps();

function sourceOf(client?: string): JobSource {
  return Object.assign(new EmbeddedSource(), client === undefined ? {} : { client });
}

const legacy = () => GearMonkeyModule.forRoot({ name: 'legacy', source: sourceOf('LegacyClient (legacy)') });
const starting = (metadata: ModuleMetadata) => apps.start(metadata).then(() => 'started');

@Injectable()
class ByParameter {
  constructor(@InjectGearMonkey('legacy') readonly jobs: GearMonkeyClient) {}
}
@Injectable()
class ByProperty {
  @InjectGearMonkey('legacy')
  readonly jobs?: GearMonkeyClient;
}
@Injectable()
class ByForwardRef {
  constructor(
    @Inject(forwardRef(() => getGearMonkeyClientToken('legacy'))) readonly jobs: GearMonkeyClient,
  ) {}
}
@Injectable({ scope: Scope.REQUEST })
class PerJob {
  constructor(@InjectGearMonkey('legacy') readonly jobs: GearMonkeyClient) {}
}
@Injectable()
class Inherits extends ByParameter {}
@Controller()
class Routes {
  constructor(@InjectGearMonkey('legacy') readonly jobs: GearMonkeyClient) {}
}

describe('an instance with a source', () => {
  it.each<[string, Type]>([
    ['a parameter', ByParameter],
    ['a property', ByProperty],
    ['a forward reference', ByForwardRef],
    ['a request-scoped class', PerJob],
    ['an inherited constructor', Inherits],
  ])('has no client to inject, by %s', async (_, provider) => {
    const refused = starting({ imports: [legacy()], providers: [provider] });
    await expect(refused).rejects.toThrow(ConfigurationError);
    await expect(refused).rejects.toThrow(
      `${provider.name} uses the GearMonkeyClient of the instance "legacy", but there is none: ` +
        'its jobs come from a `source`. Use LegacyClient (legacy) instead.',
    );
  });

  it('has none for a controller, a factory, an alias or a feature module', async () => {
    const token = getGearMonkeyClientToken('legacy');
    const factory = { provide: 'SHOP', inject: [token], useFactory: (jobs: GearMonkeyClient) => jobs };
    const alias = { provide: 'JOBS', useExisting: token };
    @Module({ imports: [GearMonkeyModule.forFeature([defineJob('one')], 'legacy')] })
    class Feature {}
    await expect(starting({ imports: [legacy()], controllers: [Routes] })).rejects.toThrow('Routes uses the');
    await expect(starting({ imports: [legacy()], providers: [factory] })).rejects.toThrow('SHOP uses the');
    await expect(starting({ imports: [legacy()], providers: [alias] })).rejects.toThrow('JOBS uses the');
    await expect(starting({ imports: [legacy(), Feature] })).rejects.toThrow(
      'GearMonkeyModule.forFeature uses the GearMonkeyClient of the instance "legacy"',
    );
  });

  it('has none by class, with options of a factory, or with any kind of source', async () => {
    @Injectable()
    class Shop {
      constructor(readonly jobs: GearMonkeyClient) {}
    }
    const useFactory = async () => ({ source: sourceOf() });
    const refused = starting({ imports: [GearMonkeyModule.forRootAsync({ useFactory })], providers: [Shop] });
    await expect(refused).rejects.toThrow(
      'Shop uses the GearMonkeyClient of the instance "default", but there is none: ' +
        'its jobs come from a `source`. Use the client of that system instead.',
    );
  });

  it('has none to get later either', async () => {
    const app = await apps.start({ imports: [legacy()] });
    expect(() => app.get(getGearMonkeyClientToken('legacy'))).toThrow(
      'could not find GearMonkeyClient:legacy',
    );
    expect(() => app.get(GearMonkeyClient)).toThrow('could not find GearMonkeyClient');
  });

  it('starts if the client is optional or substituted', async () => {
    @Injectable()
    class Shop {
      @Optional()
      @InjectGearMonkey('legacy')
      readonly byProperty?: GearMonkeyClient;
      constructor(@Optional() @InjectGearMonkey('legacy') readonly jobs?: GearMonkeyClient) {}
    }
    const token = getGearMonkeyClientToken('legacy');
    const factory = {
      provide: 'FACTORY',
      inject: [{ token, optional: true }],
      useFactory: (jobs?: GearMonkeyClient) => [jobs],
    };
    const app = await apps.start({ imports: [legacy()], providers: [Shop, factory] });
    expect(app.get(Shop).jobs).toBeUndefined();
    expect(app.get(Shop).byProperty).toBeUndefined();
    expect(app.get('FACTORY')).toEqual([undefined]);

    const substitute = { run: () => 'ran' };
    @Module({ providers: [ByParameter, { provide: token, useValue: substitute }] })
    class Own {}
    const owning = await apps.start({ imports: [legacy(), Own] });
    expect(owning.get(ByParameter, { strict: false }).jobs).toBe(substitute);

    const testing = await Test.createTestingModule({ imports: [legacy()], providers: [ByParameter] })
      .overrideProvider(token)
      .useValue(substitute)
      .compile();
    expect(testing.get(ByParameter).jobs).toBe(substitute);
    await testing.close();
  });

  it('has no observers', async () => {
    @Injectable()
    class Watch {
      @OnFinish('one', { instance: 'legacy' })
      finished() {}
    }
    await expect(starting({ imports: [legacy()], providers: [Watch] })).rejects.toThrow(
      'The observer Watch.finished uses the GearMonkeyClient of the instance "legacy", but there is none',
    );
  });

  it('has handlers and health', async () => {
    @Injectable()
    class Handlers {
      @Worker(defineJob('one'), { instance: 'legacy' })
      one() {}
    }
    const app = await apps.start({ imports: [legacy()], providers: [Handlers] });
    expect(app.get(GearMonkeyHealth).check()).toEqual([
      { name: 'legacy', connected: true, server: 'memory:' },
    ]);
    await expect(app.get(GearMonkeyHealth).ping()).resolves.toEqual([
      { name: 'legacy', connected: true, server: 'memory:' },
    ]);
  });

  it.each([
    ['codec', { codec: 'xml' }],
    ['maxPayloadBytes', { maxPayloadBytes: 0 }],
  ])('checks %s', async (option, options) => {
    const forRoot = GearMonkeyModule.forRoot({ source: sourceOf(), ...options } as { source: JobSource });
    await expect(starting({ imports: [forRoot] })).rejects.toMatchObject({ option });
  });
});

describe('the clients that errors name', () => {
  it('are the clients of the systems', async () => {
    const sources = [
      qless({ connection: 'redis://127.0.0.1:1', queues: ['q'] }),
      jq({ master: 'http://127.0.0.1:1' }),
      jobd({ database: 'sqlite:/nowhere/jobs.db', targets: ['t'], log: SILENT }),
    ];
    expect(sources.map(({ client }) => client)).toEqual([
      'QlessClient (nestjs-gearmonkey/qless)',
      'JqClient (nestjs-gearmonkey/jq)',
      'JobdClient (nestjs-gearmonkey/jobd)',
    ]);
    await Promise.all(sources.map((source) => source.close()));
  });
});
