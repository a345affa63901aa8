import { Injectable } from '@nestjs/common';
import { defineJob, GearMonkeyClient, Worker } from 'nestjs-gearmonkey';
import { tenants } from './tenant.middleware.js';

export const ship = defineJob<{ order: number }, string>('ship');
const invoice = defineJob<{ order: number }, string>('invoice');

@Injectable()
export class Orders {
  constructor(private readonly jobs: GearMonkeyClient) {}

  /** What it enqueues belongs to the same tenant. */
  @Worker(ship)
  async ship({ order }: { order: number }): Promise<string> {
    return `shipped, ${await this.jobs.call(invoice, { order })}`;
  }

  @Worker(invoice)
  invoice({ order }: { order: number }): string {
    if (order === 0) throw new Error('There is no order 0');
    return `invoice ${order} of ${tenants.getStore()}`;
  }
}
