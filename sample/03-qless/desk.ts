import { Injectable, type OnModuleInit } from '@nestjs/common';
import { QlessClient, type QlessJob } from 'nestjs-gearmonkey/qless';
import { exhaustMap, first, firstValueFrom, timer } from 'rxjs';

const LOOK_MS = 50;

/** The client. Programs in other languages can use the same queues. */
@Injectable()
export class Desk implements OnModuleInit {
  private readonly jids: string[] = [];

  constructor(private readonly qless: QlessClient) {}

  /** Called before any worker has started. */
  async onModuleInit(): Promise<void> {
    const [bulk, urgent] = [this.qless.queue('bulk'), this.qless.queue('urgent')];
    const reports = ['sales', 'stock', ''].map((title) => ({ klass: 'Report', data: { title } }));
    this.jids.push(...(await bulk.putMany(reports)));
    this.jids.push(await urgent.put('Report', { title: 'alarms' }, { tags: ['night'] }));
  }

  /** Resolves with the jobs of this run when all of them have ended. */
  results(): Promise<QlessJob[]> {
    const jobs = timer(0, LOOK_MS).pipe(exhaustMap(() => this.qless.jobs.getMany(this.jids)));
    const ended = ({ state }: QlessJob) => state === 'complete' || state === 'failed';
    return firstValueFrom(jobs.pipe(first((read) => read.every(ended))));
  }
}
