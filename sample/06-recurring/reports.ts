import { Injectable } from '@nestjs/common';
import { Recurring, type RunningJob } from 'nestjs-gearmonkey';

/** A handler whose jobs come by themselves. */
@Injectable()
export class Reports {
  private reported = 0;
  private end: () => void = () => undefined;
  /** Resolves after three reports. */
  readonly ended = new Promise<void>((resolve) => (this.end = resolve));

  @Recurring('* * * * * *', { seconds: true, catchUp: 'skip', input: 'sales' })
  report(what: string, { recurring }: RunningJob): void {
    this.reported += 1;
    console.log(
      `Report ${this.reported} of ${what}, ${recurring?.previous ? 'since the one before' : 'the first one'}`,
    );
    if (this.reported === 3) this.end();
  }
}
