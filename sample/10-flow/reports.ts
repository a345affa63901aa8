import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, type FlowNode, type OnParentError } from 'nestjs-gearmonkey';
import { lastValueFrom } from 'rxjs';
import { closeDay, countRegion, writeReport } from './report.jobs.js';

type Figures = Readonly<Record<string, number>>;

@Injectable()
export class Reports {
  constructor(private readonly jobs: GearMonkeyClient) {}

  /** Returns the report, or why there is none. */
  async make(day: string, figures: Figures, onParentError: OnParentError = 'fail'): Promise<string> {
    const report: FlowNode<typeof writeReport> = {
      job: writeReport,
      input: { day },
      options: { onParentError },
    };
    const regions = Object.entries(figures).map(([region, sold]) => ({
      job: countRegion,
      input: { region, sold },
      children: [report],
    }));
    const flow = await this.jobs.flow({ job: closeDay, input: { day }, children: regions });
    const { done, total } = await lastValueFrom(flow.progress$);
    const { output, error } = (await flow.jobOf(report)?.get()) ?? {};
    return `${done} of ${total} jobs done. ${String(output ?? error?.message)}`;
  }
}
