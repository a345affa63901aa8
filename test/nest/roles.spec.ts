import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Logger, type Type } from '@nestjs/common';
import {
  ConfigurationError,
  GearMonkeyClient,
  GearMonkeyHealth,
  GearMonkeyModule,
  GearMonkeyWorkers,
  InjectGearMonkey,
  InvalidFunctionNameError,
  InvalidOptionError,
  OnFinish,
  Worker,
  defineJob,
  type WorkersOption,
} from 'nestjs-gearmonkey';
import { jobd } from '../../lib/jobd/index.js';
import { SILENT } from '../../lib/jobd/vocabulary/logging.js';
import { jq } from '../../lib/jq/index.js';
import { qless } from '../../lib/qless/index.js';
import { connectionsOf } from '../scale/connections.js';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

const apps = useApps();

/** Two handlers in one class, as one code base has them. */
@Injectable()
class Handlers {
  @Worker('resize', { concurrency: 3 })
  resize() {
    return 'resized';
  }
  @Worker('mail')
  mail() {
    return 'sent';
  }
}

/** What runs in an app with these options and this environment, as "fn" or "instance/fn". */
async function running(
  env: Record<string, string>,
  workers?: WorkersOption,
  providers: Type[] = [Handlers],
): Promise<string[]> {
  Object.assign(process.env, env);
  const app = await apps.start({
    imports: [
      GearMonkeyModule.forRoot({ connection: 'memory:', workers }),
      GearMonkeyModule.forRoot({ name: 'old-jobs', connection: 'memory:' }),
    ],
    providers,
  });
  const names = app
    .get(GearMonkeyWorkers)
    .list()
    .map(({ instance, fn }) => (instance === 'default' ? fn : `${instance}/${fn}`));
  await app.close();
  return names;
}

afterEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('GEARMONKEY_')) delete process.env[name];
});

describe('`workers`', () => {
  it.each([
    [undefined, ['resize', 'mail']],
    [true, ['resize', 'mail']],
    [false, []],
    [['mail'], ['mail']],
    [
      ['mail', 'resize', 'mail'],
      ['resize', 'mail'],
    ],
  ])('%j runs %j', async (workers, expected) => {
    await expect(running({}, workers)).resolves.toEqual(expected);
  });

  it.each([
    ['text, as a configuration has it', 'false'],
    ['null', null],
    ['a number', 0],
    ['an empty list, which may be a list with an error', []],
  ])('can not be %s', async (_, workers) => {
    await expect(running({}, workers as never)).rejects.toThrow(InvalidOptionError);
  });

  it.each([[['']], [['re size']], [[7]]])('refuses %j, which is no list of functions', async (workers) => {
    await expect(running({}, workers as never)).rejects.toThrow(InvalidFunctionNameError);
  });

  it('refuses a name without a handler, and says which there are', async () => {
    const starting = running({}, ['resise']);
    await expect(starting).rejects.toThrow(ConfigurationError);
    await expect(starting).rejects.toThrow(
      '`workers` of GearMonkeyModule "default" names "resise", and there is no handler for it here. There are "resize", "mail".',
    );
  });
});

describe('GEARMONKEY_WORKERS', () => {
  it.each([
    ['true', false, ['resize', 'mail']],
    ['false', true, []],
    [' FALSE\n', ['mail'], []],
    ['mail', false, ['mail']],
    [' mail ,resize ', undefined, ['resize', 'mail']],
    ['', ['mail'], ['mail']],
    ['  ', false, []],
  ])('%j goes before `workers: %j`', async (text, workers, expected) => {
    await expect(running({ GEARMONKEY_WORKERS: text }, workers)).resolves.toEqual(expected);
  });

  it.each([',', 'mail,', 'mail,,resize', 'true,mail', 'mail,False'])(
    'refuses %j, which is neither true, nor false, nor names',
    async (text) => {
      await expect(running({ GEARMONKEY_WORKERS: text })).rejects.toThrow(`GEARMONKEY_WORKERS is '${text}'.`);
    },
  );

  it.each([
    ['resise', 'There are "resize", "mail"'],
    ['mail,0', 'names "0"'],
    ['no', 'names "no"'],
  ])('refuses %j: a typing error must not leave a function without a worker', async (text, said) => {
    const starting = running({ GEARMONKEY_WORKERS: text });
    await expect(starting).rejects.toThrow(ConfigurationError);
    await expect(starting).rejects.toThrow(said);
  });

  it('refuses names where there is no handler at all', async () => {
    await expect(running({ GEARMONKEY_WORKERS: 'mail' }, undefined, [])).rejects.toThrow('There are none.');
  });

  describe('with several instances', () => {
    @Injectable()
    class Old {
      @Worker('mail', { instance: 'old-jobs' })
      mail() {}
      @Worker('report', { instance: 'old-jobs' })
      report() {}
    }
    const both = [Handlers, Old];

    it.each([
      [{ GEARMONKEY_WORKERS: 'false' }, []],
      [{ GEARMONKEY_WORKERS: 'mail' }, ['mail', 'old-jobs/mail']],
      [{ GEARMONKEY_WORKERS: 'resize,report' }, ['resize', 'old-jobs/report']],
      [{ GEARMONKEY_WORKERS_OLD_JOBS: 'false' }, ['resize', 'mail']],
      [{ GEARMONKEY_WORKERS: 'false', GEARMONKEY_WORKERS_OLD_JOBS: 'report' }, ['old-jobs/report']],
      [
        { GEARMONKEY_WORKERS_DEFAULT: 'mail', GEARMONKEY_WORKERS_OLD_JOBS: 'mail' },
        ['mail', 'old-jobs/mail'],
      ],
    ])('%j runs %j', async (env, expected) => {
      await expect(running(env, undefined, both)).resolves.toEqual(expected);
    });

    it('refuses a name that is a handler of another instance only, which has a variable of its own', async () => {
      const env = { GEARMONKEY_WORKERS: 'report', GEARMONKEY_WORKERS_OLD_JOBS: 'mail' };
      await expect(running(env, undefined, both)).rejects.toThrow('GEARMONKEY_WORKERS names "report"');
    });

    it('takes an empty variable for none, also one of an instance that there is not', async () => {
      const env = { GEARMONKEY_WORKERS_OLD_JOBS: '', GEARMONKEY_WORKERS_NEW_JOBS: ' ' };
      await expect(running(env, ['resize'], both)).resolves.toContain('resize');
    });

    it('refuses a variable for an instance that there is not', async () => {
      await expect(running({ GEARMONKEY_WORKERS_OLDJOBS: 'false' }, undefined, both)).rejects.toThrow(
        'GEARMONKEY_WORKERS_OLDJOBS is set, but this app has no such instance: GEARMONKEY_WORKERS_DEFAULT, GEARMONKEY_WORKERS_OLD_JOBS would do.',
      );
    });
  });
});

describe('an app that runs no workers', () => {
  const used = useRedis();
  const shout = defineJob<string, string>('shout', { codec: 'text' });

  @Injectable()
  class Shouting {
    @Worker(shout, { concurrency: 2 })
    shout(text: string) {
      return text.toUpperCase();
    }
  }
  @Injectable()
  class Observers {
    readonly finished: string[] = [];
    @OnFinish(shout)
    on({ id }: { id: string }) {
      this.finished.push(id);
    }
  }
  const startAs = (workers: boolean, providers: Type[] = [Shouting, Observers]) =>
    apps.start({ imports: [GearMonkeyModule.forRoot({ connection: used.url, workers })], providers });
  const roles = async () => (await connectionsOf(used.redis)).map(({ role }) => role).toSorted();

  it('opens no blocking connection and no keeper, and its observers hear of what others run', async () => {
    const api = await startAs(false);
    const client = api.get(GearMonkeyClient);
    await expect(client.rollCall(shout)).rejects.toThrow('No worker');
    await eventually(async () => expect(await roles()).toEqual(['commands', 'subscriber']));
    const worker = await startAs(true, [Shouting]);
    await eventually(async () =>
      expect(await roles()).toEqual([
        'blocking',
        'commands',
        'commands',
        'keeper',
        'subscriber',
        'subscriber',
      ]),
    );
    await expect(client.call('shout', 'hello', { timeout: '20s' })).resolves.toBe('HELLO');
    await eventually(() => expect(api.get(Observers).finished).toHaveLength(1));
    await worker.close();
    await expect(api.get(GearMonkeyHealth).ping('10s')).resolves.toMatchObject([
      { name: 'default', connected: true },
    ]);
    await api.close();
    await eventually(async () => expect(await roles()).toEqual([]));
  });

  it('of which only observers are left opens no connection to enqueue or to work', async () => {
    await startAs(false, [Observers]);
    await eventually(async () => expect(await roles()).toEqual(['subscriber']));
  });

  it.each([
    ['qless', () => qless({ connection: used.url, queues: ['mail'] }), ['qless'], true],
    ['JQ', () => jq({ master: 'http://127.0.0.1:9', listen: { port: 0 } }), [], false],
    ['jobd', () => jobd({ database: 'sqlite:/nowhere/jobs.db', targets: ['mail'], log: SILENT }), [], true],
  ])('leaves a %s alone, and is as healthy as its server', async (_, source, connections, isHealthy) => {
    @Injectable()
    class Mailing {
      @Worker('mail')
      mail() {}
    }
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ source: source(), workers: false })],
      providers: [Mailing],
    });
    const healthy = async () => (await app.get(GearMonkeyHealth).ping('10s'))[0]?.connected;
    await expect(healthy()).resolves.toBe(isHealthy);
    await eventually(async () => expect(await roles()).toEqual(connections));
  });

  it('does not make a handler that it leaves out: its options may need what is not there', async () => {
    @Injectable()
    class Demanding {
      @Worker('demanding', () => {
        throw new Error('no such key');
      })
      run() {}
    }
    await expect(running({ GEARMONKEY_WORKERS: 'false' }, true, [Demanding])).resolves.toEqual([]);
    await expect(running({ GEARMONKEY_WORKERS: 'true' }, true, [Demanding])).rejects.toThrow('no such key');
  });

  it('still refuses two handlers of one function', async () => {
    @Injectable()
    class Second {
      @Worker('mail')
      mail() {}
    }
    await expect(running({}, false, [Handlers, Second])).rejects.toThrow(
      'Handlers.mail and Second.mail both handle "mail".',
    );
  });

  it('may have a client of another instance whose workers run', async () => {
    @Injectable()
    class Local {
      constructor(@InjectGearMonkey('local') readonly jobs: GearMonkeyClient) {}
      @Worker('here', { instance: 'local' })
      here() {
        return 'here';
      }
    }
    const app = await apps.start({
      imports: [
        GearMonkeyModule.forRoot({ connection: used.url, workers: false }),
        GearMonkeyModule.forRoot({ name: 'local', connection: 'memory:' }),
      ],
      providers: [Local, Shouting],
    });
    await expect(app.get(Local).jobs.call('here', null, { timeout: '20s' })).resolves.toBe('here');
    await eventually(async () => expect(await roles()).toEqual([]));
  });

  it('says at its start what it runs, and what it leaves out by whose word', async () => {
    process.env['GEARMONKEY_WORKERS'] = 'resize';
    const said: string[] = [];
    const app = await apps.create({
      imports: [
        GearMonkeyModule.forRoot({ connection: 'memory:' }),
        GearMonkeyModule.forRoot({ name: 'idle', connection: 'memory:', workers: false }),
      ],
      providers: [Handlers],
    });
    const keep = (line: unknown, context?: string) => {
      if (context === 'GearMonkey') said.push(String(line));
    };
    // Of other classes of this file it warns that they are in no module.
    Logger.overrideLogger({ log: keep, warn: () => undefined, error: keep });
    await app.init();
    Logger.overrideLogger(false);
    expect(said).toEqual([
      '"default" at memory: runs resize (3 at a time); GEARMONKEY_WORKERS leaves out mail',
      '"idle" at memory: runs no jobs here',
    ]);
  });
});
