import { Injectable } from '@nestjs/common';
import { Worker, type RunningJob } from 'nestjs-gearmonkey';
import { closeDay, countRegion, writeReport } from './report.jobs.js';

@Injectable()
export class Handlers {
  @Worker(closeDay)
  close(): { regions: number } {
    return { regions: 3 };
  }

  @Worker(countRegion, { concurrency: 3 })
  count({ region, sold }: { region: string; sold: number }): { region: string; sold: number } {
    if (sold < 0) throw new Error(`${region} has no figures`);
    return { region, sold };
  }

  /** Runs once, behind all regions. */
  @Worker(writeReport)
  async write({ day }: { day: string }, job: RunningJob): Promise<string> {
    const regions = await job.parents(countRegion);
    const lines = regions.map(({ output, error }) =>
      output ? `${output.region} ${output.sold}` : `missing: ${error?.message}`,
    );
    return `${day}: ${lines.join(', ')}`;
  }
}
