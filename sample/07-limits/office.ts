import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, LimitFullError } from 'nestjs-gearmonkey';
import { exportReport, geocode, renderFilm } from './jobs.js';
import { Handlers } from './handlers.js';

const REPORTS = 40;
const HALF_A_SECOND = 500;

/** The client, which could also be in another process. */
@Injectable()
export class Office {
  constructor(
    private readonly jobs: GearMonkeyClient,
    private readonly handlers: Handlers,
  ) {}

  async serveTenants(): Promise<void> {
    const reports = Array.from({ length: REPORTS }, (_, report) => ({ tenant: 'acme', report }));
    const large = await this.jobs.runMany(exportReport, reports);
    const small = await this.jobs.runMany(
      exportReport,
      [1, 2].map((report) => ({ tenant: 'tiny', report })),
    );
    await Promise.all(small.map((job) => job.result()));
    const [acme] = await this.jobs.limits(exportReport, { key: 'acme' });
    const isLate = (acme?.waiting ?? 0) < REPORTS / 2;
    console.log(`tiny has its 2 exports ${isLate ? 'after' : 'before half of'} those of acme.`);
    await Promise.all(large.map((job) => job.result()));
    for (const [tenant, { most }] of this.handlers.running)
      console.log(`${tenant}: at most ${most} exports at the same time.`);
  }

  async callTheApi(): Promise<void> {
    const addresses = Array.from({ length: 12 }, (_, number) => ({ address: `${number} Main Street` }));
    const calls = await this.jobs.runMany(geocode, addresses);
    const times = (await Promise.all(calls.map((job) => job.result()))).sort((a, b) => a - b);
    const took = (times.at(-1) ?? 0) - (times[0] ?? 0);
    console.log(`12 calls, 5 in half a second: ${took > 1.9 * HALF_A_SECOND ? 'a second' : `${took} ms`}.`);
  }

  async refuseTheSecond(): Promise<void> {
    const film = await this.jobs.run(renderFilm, { user: 'ada' });
    try {
      await this.jobs.run(renderFilm, { user: 'ada' });
    } catch (error) {
      if (!(error instanceof LimitFullError)) throw error;
      console.log(`${error.code}: ${error.key} has a film.`);
    }
    await film.result();
  }
}
