import { Inject, Injectable } from '@nestjs/common';
import { ClientLimitError } from '../engine/engine-errors.js';
import { MASTER_SETTINGS, type MasterSettings } from './master-options.js';

/** Counts waiting requests by client: each holds a connection, and these are limited. */
@Injectable()
export class ClientPolls {
  private readonly counts = new Map<string, number>();

  constructor(@Inject(MASTER_SETTINGS) private readonly settings: MasterSettings) {}

  /** @throws ClientLimitError */
  async hold<T>(client: string, poll: () => Promise<T>): Promise<T> {
    const { maxPollsPerClient: most } = this.settings;
    const count = this.counts.get(client) ?? 0;
    if (count >= most) throw new ClientLimitError(`${most} requests that wait`, 'maxPollsPerClient');
    this.counts.set(client, count + 1);
    try {
      return await poll();
    } finally {
      const left = (this.counts.get(client) ?? 1) - 1;
      if (left > 0) this.counts.set(client, left);
      else this.counts.delete(client);
    }
  }
}
