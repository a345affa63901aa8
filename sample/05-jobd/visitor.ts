import { Injectable } from '@nestjs/common';
import { filter, firstValueFrom } from 'rxjs';
import { JobdClient } from 'nestjs-gearmonkey/jobd';

/** Adds rows and reads their results. */
@Injectable()
export class Visitor {
  constructor(private readonly jobs: JobdClient) {}

  /** Adds rows; a handler or a process runs them, depending on the target. */
  async visit(target: string): Promise<void> {
    const id = await this.jobs.add(target);
    await this.jobs.poke(target);
    const done = this.jobs.rows([id], { interval: '100ms' }).pipe(filter(({ status }) => status === 'done'));
    const { result, stdout } = await firstValueFrom(done);
    console.log(`${target}: ${result}, ${stdout?.trim()}`);
  }

  async runByHand(): Promise<void> {
    const id = await this.jobs.add('shell', { status: 'manual' });
    const { jobs } = await this.jobs.runManual(id);
    console.log(`run-manual: ${jobs.get(id)?.stdout.trim()}`);
  }
}
