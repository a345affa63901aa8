import { Injectable } from '@nestjs/common';
import type { EndedRun, JobMiddleware } from 'nestjs-gearmonkey';

/** Counts how the runs of each tenant's jobs ended. */
@Injectable()
export class RunReport implements JobMiddleware {
  private readonly counts = new Map<string, number>();

  onOutcome({ headers, end }: EndedRun): void {
    const line = `${headers['tenant']}: ${end}`;
    this.counts.set(line, (this.counts.get(line) ?? 0) + 1);
  }

  lines(): string[] {
    return [...this.counts].map(([line, count]) => `${line} ${count}`).sort();
  }
}
