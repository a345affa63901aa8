import { Injectable, Module } from '@nestjs/common';
import { GearMonkeyModule, UnrecoverableError, Worker, type RunningJob } from 'nestjs-gearmonkey';
import { jq } from 'nestjs-gearmonkey/jq';
import { master } from './addresses.js';
import { mail, type Mail } from './mail.job.js';

@Injectable()
class Mailer {
  @Worker(mail, { concurrency: 5 })
  send({ to }: Mail, job: RunningJob): string {
    if (!to.includes('@')) throw new UnrecoverableError(`${to} is no address`); // not retried
    if (job.attempts === 1 && to.startsWith('flaky')) throw new Error('try later'); // the master retries it
    return `sent to ${to}, attempt ${job.attempts}`;
  }
}

/** The master pushes jobs to a free port of this process. Without `listen` the worker would pull them. */
@Module({
  imports: [GearMonkeyModule.forRoot({ source: jq({ master, listen: { port: 0 } }) })],
  providers: [Mailer],
})
export class WorkerModule {}
