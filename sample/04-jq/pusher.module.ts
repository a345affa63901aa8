import { Injectable, Module } from '@nestjs/common';
import { JqClient, JqJobFailedError, JqModule } from 'nestjs-gearmonkey/jq';
import { firstValueFrom } from 'rxjs';
import { master } from './addresses.js';
import { mail } from './mail.job.js';

@Injectable()
export class Pusher {
  constructor(private readonly jobs: JqClient) {}

  async push(): Promise<void> {
    for (const to of ['ada@example.com', 'flaky@example.com']) {
      console.log(await this.jobs.call(mail, { to, tenant: 'acme' }));
    }
    const job = await this.jobs.enqueue(mail, { to: 'no-address', tenant: 'acme' }, { priority: -1 });
    await firstValueFrom(job.result()).catch((error: unknown) => {
      if (!(error instanceof JqJobFailedError)) throw error;
      console.log(`failed for good: ${error.reason}`);
    });
  }
}

@Module({ imports: [JqModule.forRoot({ master })], providers: [Pusher] })
export class PusherModule {}
