import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, JobFailedError } from 'nestjs-gearmonkey';
import { greet } from './greet.job.js';

/** The client, which could also be in another process. */
@Injectable()
export class Host {
  constructor(private readonly jobs: GearMonkeyClient) {}

  async welcome(names: readonly string[]): Promise<void> {
    for (const name of names) console.log(await this.jobs.call(greet, { name }));
  }

  async explainFailure(): Promise<void> {
    const job = await this.jobs.run(greet, { name: '' });
    try {
      await job.result();
    } catch (error) {
      if (!(error instanceof JobFailedError)) throw error;
      console.log(`Job ${job.id} ended with state ${(await job.get()).state}: ${error.error.message}`);
    }
  }
}
