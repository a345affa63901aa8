import { describe, expect, it } from '@jest/globals';
import { Injectable, UseGuards, type CanActivate, type Type } from '@nestjs/common';
import {
  CurrentJob,
  GearMonkeyClient,
  GearMonkeyModule,
  Input,
  Recurring,
  RunningJob,
  Worker,
  type AppOptions,
} from 'nestjs-gearmonkey';
import { compareVersions } from '../../../lib/gearmonkey/features/schedules/compare-versions.js';
import { qless } from '../../../lib/qless/index.js';
import { onThisMachine } from '../../support/machine.js';
import { useApps } from '../../support/use-apps.js';
import { eventually } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';

const NINE = '0 9 * * *';

const seen: unknown[] = [];

class Guard implements CanActivate {
  canActivate(): boolean {
    seen.push('guarded');
    return true;
  }
}

@Injectable()
class Reports {
  @Recurring(NINE, { timezone: 'Europe/Berlin', input: { to: 'all' } })
  @Worker('report')
  report() {}

  @Recurring({ every: '1h', id: 'hourly' })
  clean() {}
}

@Injectable()
class LaterReports {
  @Worker('report')
  @Recurring('0 8 * * *', { id: 'Reports.report', timezone: 'Europe/Berlin', input: { to: 'all' } })
  report() {}
}

@Injectable()
class Ticks {
  @Recurring('* * * * * *', { seconds: true, input: 'tick' })
  @UseGuards(Guard)
  tick(@Input() input: string, @CurrentJob() { recurring }: RunningJob) {
    seen.push([input, recurring?.id]);
  }
}

/** A class with one method that recurs, or is refused. */
function recurring(...args: Parameters<typeof Recurring>): Type {
  @Injectable()
  class Made {
    @Recurring(...args)
    run() {}
  }
  return Made;
}

describe('compareVersions', () => {
  it.each([
    ['1.2.3', '1.2.3', 0],
    ['1.10.0', '1.9.0', 1],
    ['2.0.0-rc.1', '2.0.0', -1],
    ['2.0.0-rc.10', '2.0.0-rc.9', 1],
    ['2.0.0-rc.1', '1.9.9', 1],
    ['v1.0.0', '1.0.0', 0],
    ['1.0.0+build.7', '1.0.0+build.8', 0],
    ['2026-11-22', '2026-11-21', 1],
    ['007', '7', 0],
    ['1.02.0', '1.2.0', 0],
  ])('of %s and %s', (one, other, order) => {
    expect(Math.sign(compareVersions(one, other))).toBe(order);
    expect(Math.sign(compareVersions(other, one))).toBe(-order + 0);
  });
});

describe.each(['memory', 'Redis'])('@Recurring, in %s', (kind) => {
  const apps = useApps();
  const redis = useRedis();
  let names = 0;

  /** A server for one test. */
  const server = () =>
    (kind === 'memory' ? `memory:declared-${++names}` : `${redis.url}/${++names}`) as `memory:${string}`;

  /** Starts an app, and returns its client. */
  async function started(
    connection: `memory:${string}`,
    providers: Type[],
    app?: AppOptions,
    workers?: boolean | string[],
  ): Promise<GearMonkeyClient> {
    const options = { connection, ...(app && { app }), ...(workers !== undefined && { workers }) };
    const made = await apps.start({ imports: [GearMonkeyModule.forRoot(options)], providers });
    return made.get(GearMonkeyClient);
  }

  const version = (text: string, more: Partial<AppOptions> = {}) => ({
    name: 'shop',
    version: text,
    ...more,
  });

  async function list(
    client: GearMonkeyClient,
  ): Promise<Record<'id' | 'fn' | 'version' | 'cron', unknown>[]> {
    return (await client.schedules.list()).map(({ id, fn, cron, app }) => ({
      ...{ id, fn, cron },
      version: app?.version,
    }));
  }

  it('writes schedules at the start: beside @Worker, and alone for a function of its own', async () => {
    const client = await started(server(), [Reports], version('1.0.0'));
    await expect(client.schedules.get('Reports.report')).resolves.toMatchObject({
      ...{ fn: 'report', cron: NINE, timezone: 'Europe/Berlin', input: { to: 'all' } },
      app: { name: 'shop', version: '1.0.0' },
    });
    await expect(client.schedules.get('hourly')).resolves.toMatchObject({
      fn: 'Reports.clean',
      every: 3_600_000,
    });
  });

  it('runs its method with guards and parameters, as any handler', async () => {
    seen.length = 0;
    await started(server(), [Ticks]);
    await eventually(() => expect(seen.length).toBeGreaterThanOrEqual(2));
    expect(seen.slice(0, 2)).toEqual(['guarded', ['tick', 'Ticks.tick']]);
  });

  it('changes what a later version changes, and removes what it has no more', async () => {
    const where = server();
    const client = await started(where, [Reports], version('1.9.0'));
    await client.recur('report', { id: 'by-hand', cron: NINE });
    await started(where, [LaterReports], version('1.10.0'));
    expect(await list(client)).toEqual([
      { id: 'Reports.report', fn: 'report', cron: '0 8 * * *', version: '1.10.0' },
      { id: 'by-hand', fn: 'report', cron: NINE, version: undefined },
    ]);
  });

  it('does not change back when a process of the earlier version starts again', async () => {
    const where = server();
    await started(where, [Reports], version('1.0.0'));
    const client = await started(where, [LaterReports], version('2.0.0'));
    const expected = await list(client);
    await Promise.all([
      started(where, [Reports], version('1.0.0')),
      started(where, [LaterReports], version('2.0.0')),
      started(where, [Reports], version('2.0.0-rc.1')),
    ]);
    expect(await list(client)).toEqual(expected);
    await started(where, [Reports], version('1.0.0', { takeOver: true }));
    expect((await list(client)).map(({ id, cron }) => [id, cron])).toEqual([
      ['Reports.report', NINE],
      ['hourly', undefined],
    ]);
  });

  it('keeps the next tick where nothing but the version changes', async () => {
    const where = server();
    const client = await started(where, [Reports], version('1.0.0'));
    const before = await client.schedules.get('hourly');
    await started(where, [Reports], version('2.0.0'));
    await expect(client.schedules.get('hourly')).resolves.toMatchObject({
      next: before?.next,
      app: { version: '2.0.0' },
    });
  });

  it('leaves alone what other parts of the same version declare, and other apps', async () => {
    const where = server();
    const client = await started(where, [Reports], version('1.0.0'));
    await started(where, [Ticks], version('1.0.0'));
    await started(where, [], { name: 'bank', version: '9.0.0' });
    expect((await list(client)).map(({ id }) => id)).toEqual(['Reports.report', 'Ticks.tick', 'hourly']);
  });

  it('refuses to start with the id of a schedule of another app, and takes it over if told', async () => {
    const where = server();
    const client = await started(where, [Reports], version('2.0.0'));
    const before = await list(client);
    const bank = { name: 'bank', version: '1.0.0' };
    const both = [recurring(NINE, { id: 'of-the-bank' }), LaterReports];
    await expect(started(where, both, bank)).rejects.toMatchObject({
      ...{ code: 'SCHEDULE_OF_OTHER_APP', id: 'Reports.report', app: 'shop' },
      message: expect.stringContaining('takeOver: true'),
    });
    expect(await list(client)).toEqual(before);
    @Injectable()
    class Elsewhere {
      @Worker('elsewhere')
      @Recurring(NINE, { id: 'Reports.report' })
      run() {}
    }
    await expect(started(where, [Elsewhere], bank)).rejects.toMatchObject({ code: 'SCHEDULE_OF_OTHER_APP' });
    await started(where, [Elsewhere], { ...bank, takeOver: true });
    expect(await list(client)).toEqual([
      { id: 'Reports.report', fn: 'elsewhere', cron: NINE, version: '1.0.0' },
      { id: 'hourly', fn: 'Reports.clean', cron: undefined, version: '2.0.0' },
    ]);
  });

  it('takes over a schedule that recur has made', async () => {
    const where = server();
    const client = await started(where, [], version('1.0.0'));
    await client.recur('report', { id: 'Reports.report', cron: '0 1 * * *' });
    await started(where, [Reports], version('1.0.0'));
    await expect(client.schedules.get('Reports.report')).resolves.toMatchObject({
      cron: NINE,
      app: { name: 'shop' },
    });
  });

  it('takes versions that differ only in zeros for the same one', async () => {
    const where = server();
    const client = await started(where, [Reports], version('007'));
    await started(where, [LaterReports], version('7'));
    await started(where, [Ticks], version('007'));
    expect((await list(client)).map(({ id, cron }) => [id, cron])).toEqual([
      ['Reports.report', '0 8 * * *'],
      ['Ticks.tick', '* * * * * *'],
      ['hourly', undefined],
    ]);
    await started(where, [LaterReports], version('8'));
    expect((await list(client)).map(({ id }) => id)).toEqual(['Reports.report']);
  });

  it('removes the last one too, if the app is named', async () => {
    const where = server();
    const client = await started(where, [Reports], version('1.0.0'));
    await started(where, [], version('1.1.0'));
    expect(await list(client)).toEqual([]);
  });

  it('declares nothing in a process that runs no workers, and takes nothing for removed', async () => {
    const where = server();
    const client = await started(where, [Reports], version('1.0.0'));
    await started(where, [Reports], version('2.0.0'), false);
    expect((await list(client)).map(({ version: of }) => of)).toEqual(['1.0.0', '1.0.0']);
  });

  it('takes its options from the configuration, and disables with them', async () => {
    const where = server();
    process.env['REPORT_CRON'] = '5 4 * * *';
    const from = () =>
      recurring(() => ({
        id: 'configured',
        cron: process.env['REPORT_CRON'] ?? '',
        enabled: process.env['REPORT_ON'],
      }));
    const client = await started(where, [from()], version('1.0.0'));
    await expect(client.schedules.get('configured')).resolves.toMatchObject({ cron: '5 4 * * *' });
    process.env['REPORT_ON'] = 'false';
    await started(where, [from()], version('1.0.0'));
    await expect(client.schedules.get('configured')).resolves.toBeNull();
    delete process.env['REPORT_ON'];
  });

  it('moves a schedule whose method now belongs to another function', async () => {
    const where = server();
    await started(where, [recurring(NINE, { id: 'moves' })], version('1.0.0'));
    @Injectable()
    class Moved {
      @Worker('elsewhere')
      @Recurring(NINE, { id: 'moves' })
      run() {}
    }
    const client = await started(where, [Moved], version('2.0.0'));
    await expect(client.schedules.get('moves')).resolves.toMatchObject({ fn: 'elsewhere' });
    await expect(client.schedules.list('Made.run')).resolves.toEqual([]);
  });

  it('keeps a pause of an operator over starts', async () => {
    const where = server();
    const client = await started(where, [Reports], version('1.0.0'));
    await client.schedules.pause('hourly');
    await started(where, [Reports], version('2.0.0'));
    await expect(client.schedules.get('hourly')).resolves.toMatchObject({ paused: true });
  });
});

describe('@Recurring with a mistake', () => {
  const apps = useApps();
  const starting = (providers: Type[], more: object = {}) =>
    apps.start({ imports: [GearMonkeyModule.forRoot({ connection: 'memory:', ...more })], providers });

  it.each([
    ['a pattern that never matches', recurring('0 0 30 2 *'), '`cron of @Recurring on Made.run`'],
    ['six fields', recurring('* * * * * *'), '`seconds: true`'],
    [
      'a time zone that does not exist',
      recurring(NINE, { timezone: 'Mars/Olympus' }),
      '`timezone of @Recurring on Made.run`',
    ],
    ['no time at all', recurring({}), '`cron of @Recurring on Made.run`'],
    ['an interval below a second', recurring({ every: 10 }), '`every of @Recurring on Made.run`'],
    [
      'an `enabled` that is text',
      recurring(NINE, { enabled: 'no' as unknown as boolean }),
      '`enabled of @Recurring on Made.run`',
    ],
  ])('does not start: %s', async (_, provider, message) => {
    const began = performance.now();
    await expect(starting([provider])).rejects.toThrow(message);
    expect(performance.now() - began).toBeLessThan(onThisMachine(2000));
  });

  it('is refused when the class is read: an unknown option, two patterns', () => {
    expect(() => recurring(NINE, { timeZone: 'UTC' } as object)).toThrow('Did you mean `timezone`?');
    expect(() => recurring(NINE, { cron: NINE })).toThrow('two patterns');
  });

  it('does not start with two schedules of one id, or of another instance than the handler', async () => {
    await expect(
      starting([recurring(NINE, { id: 'x' }), recurring({ every: '1h', id: 'x' })]),
    ).rejects.toThrow(/both handle|have the id "x"/);
    @Injectable()
    class Elsewhere {
      @Worker('fn')
      @Recurring(NINE, { instance: 'other' })
      run() {}
    }
    await expect(starting([Elsewhere])).rejects.toThrow('Leave it out of @Recurring');
  });

  it('does not start where jobs come from another system', async () => {
    const source = qless({ connection: 'redis://127.0.0.1:1', queues: ['q'] });
    const imports = [GearMonkeyModule.forRoot({ source })];
    await expect(apps.start({ imports, providers: [Ticks] })).rejects.toThrow(
      '@Recurring on Ticks.tick uses the GearMonkeyClient',
    );
  });

  it.each([
    [{ name: '', version: '1' }, '`app.name`'],
    [{ name: 'a', version: 1 }, '`app.version`'],
    [{ name: 'a', version: '1', takeOver: 'yes' }, '`app.takeOver`'],
    [{ name: 'a', version: '1', force: true }, 'has no option `force`'],
  ])('does not start with the app %j', async (app, message) => {
    await expect(starting([], { app })).rejects.toThrow(message);
  });
});
