import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Worker } from 'nestjs-gearmonkey';
import { exportReport, geocode, renderFilm, type Export } from './jobs.js';

@Injectable()
export class Handlers {
  /** How many exports of a tenant run now, and how many have at most. */
  readonly running = new Map<string, { now: number; most: number }>();

  @Worker(exportReport, { concurrency: 6 })
  async export({ tenant }: Export): Promise<void> {
    const count = this.running.get(tenant) ?? { now: 0, most: 0 };
    this.running.set(tenant, count);
    count.now += 1;
    count.most = Math.max(count.most, count.now);
    await delay(20);
    count.now -= 1;
  }

  @Worker(geocode, { concurrency: 10 })
  geocode(): number {
    return Date.now();
  }

  @Worker(renderFilm)
  async render(): Promise<void> {
    await delay(200);
  }
}
