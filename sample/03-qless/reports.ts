import { Injectable } from '@nestjs/common';
import { CurrentJob, Input, Worker, type RunningJob } from 'nestjs-gearmonkey';

/** The handlers: a method for each klass. */
@Injectable()
export class Reports {
  @Worker('Report', { instance: 'reports', concurrency: 1 })
  async write(@Input('title') title: string, @CurrentJob() job: RunningJob): Promise<string> {
    await job.update(1, 2); // is added to the job's history, which every qless client can read
    if (title === '') throw new Error('A report needs a title');
    console.log(`Writing ${title}`);
    return `${title}, ${title.length} letters`;
  }
}
