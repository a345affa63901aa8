import type { Codec } from '../job/codec.js';
import type { Claim, JobSource } from '../job/job-source.js';
import { DEFAULT_MAX_STEP_BYTES } from '../job/steps.js';
import { showAs } from '../job/show-as.js';
import { JobParents, type JobParentsOptions } from './job-parents.js';
import { JobSteps } from './job-steps.js';
import { JobStreams } from './job-streams.js';

/** What they need of their run. */
export interface RunOfParts {
  readonly claim: Claim;
  readonly source: Pick<JobSource, 'clock' | 'records'>;
  readonly codec: Codec;
  readonly limits: {
    readonly codec: Codec;
    readonly maxStepBytes?: number | undefined;
    readonly onLargeParents?: JobParentsOptions['onLarge'];
  };
  /** What the definition calls this order of steps; '' without. */
  readonly version: string;
  /** Whether the job is to go on elsewhere, from its next step on. */
  readonly endsAtStep: boolean;
  /** Throws if the job has to stop; gives it back first if it is to go on elsewhere. */
  goOn(): void;
  /** Gives the job back until one of the signals comes, for that long at most. */
  park(signals: readonly string[], delay: number): never;
  /** Another worker has the job. */
  onLost(): never;
}

/** The steps, streams and parents of one run. Each is made when its handler first asks for it, as most never do. */
export class JobParts {
  static {
    showAs(JobParts, () => ({}));
  }

  private madeSteps?: JobSteps;
  private madeStreams?: JobStreams;
  private madeParents?: JobParents;

  constructor(private readonly run: RunOfParts) {}

  get steps(): JobSteps {
    const { run } = this;
    return (this.madeSteps ??= new JobSteps({
      ...this.recording(),
      version: run.version,
      maxStepBytes: run.limits.maxStepBytes ?? DEFAULT_MAX_STEP_BYTES,
      isEnding: () => run.endsAtStep,
      goOn: () => run.goOn(),
      onLost: () => run.onLost(),
      flushStreams: async () => this.madeStreams?.flush(),
      park: (signals, delay) => run.park(signals, delay),
    }));
  }

  get streams(): JobStreams {
    return (this.madeStreams ??= new JobStreams({ ...this.recording(), onLost: () => this.run.onLost() }));
  }

  get parents(): JobParents {
    const { codec: defaultCodec, onLargeParents: onLarge } = this.run.limits;
    return (this.madeParents ??= new JobParents({ ...this.recording(), defaultCodec, onLarge }));
  }

  /** The handler has returned: what it has left is written. @throws what can't be */
  async end(): Promise<void> {
    await this.madeSteps?.end();
    await this.madeStreams?.flush();
  }

  /** The handler has thrown: the next attempt goes on from what can be written now. */
  async flush(): Promise<void> {
    await Promise.allSettled([this.madeSteps?.flush(), this.madeStreams?.flush()]);
  }

  private recording() {
    const { claim, source, codec } = this.run;
    return { claim, codec, records: source.records, now: () => source.clock?.now() ?? Date.now() };
  }
}
