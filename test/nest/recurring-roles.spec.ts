import { expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, GearMonkeyModule, Recurring, type AppOptions } from 'nestjs-gearmonkey';
import { useApps } from '../support/use-apps.js';

const apps = useApps();

@Injectable()
class Reports {
  @Recurring('0 9 * * *', { inject: [], useFactory: () => ({ id: 'nightly' }) })
  report() {}
}

it('A process that leaves a schedule out keeps it, also if a factory makes its id', async () => {
  const start = (app: AppOptions, workers: boolean) =>
    apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: 'memory:recurring-roles', app, workers })],
      providers: [Reports],
    });
  await start({ name: 'shop', version: '1.0.0' }, true);
  const later = await start({ name: 'shop', version: '2.0.0' }, false);
  const schedules = await later.get(GearMonkeyClient).schedules.list();
  expect(schedules.map(({ id }) => id)).toEqual(['nightly']);
});
