import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, Worker } from 'nestjs-gearmonkey';

/** A schedule that is only known when the app runs. */
@Injectable()
export class Reminders {
  constructor(private readonly jobs: GearMonkeyClient) {}

  @Worker('remind')
  remind(name: string): string {
    return `${name}, your report is due`;
  }

  async schedule(name: string): Promise<void> {
    const id = `remind:${name}`;
    await this.jobs.recur('remind', { id, cron: '0 9 * * 1', timezone: 'Europe/Berlin', input: name });
    const hours = (await this.jobs.schedules.next(id, 3)).map((date) =>
      date.toLocaleString('en-GB', {
        timeZone: 'Europe/Berlin',
        weekday: 'long',
        hour: '2-digit',
        minute: '2-digit',
      }),
    );
    console.log(`Next reminders: ${hours.join(', ')}`);
    const job = await this.jobs.schedules.runNow(id);
    console.log(await job.result());
  }
}
