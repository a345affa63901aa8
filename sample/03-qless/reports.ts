import { Injectable } from '@nestjs/common';
import { CurrentJob, Input, Worker, type RunningJob } from 'nestjs-gearmonkey';

/** The worker's side: a method for each klass. */
@Injectable()
export class Reports {
  @Worker('Report', { instance: 'reports', concurrency: 1 })
  async write(@Input('title') title: string, @CurrentJob() job: RunningJob): Promise<string> {
    await job.update(1, 2); // goes into the job's history, where every client of qless sees it
    if (title === '') throw new Error('A report needs a title');
    console.log(`Writing ${title}`);
    return `${title}, ${title.length} letters`;
  }
}
