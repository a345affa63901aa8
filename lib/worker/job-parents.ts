import { codecOf, read, type Codec } from '../job/codec.js';
import { ConfigurationError } from '../job/errors.js';
import { ParentLostError } from '../job/flow-errors.js';
import type { ParentJob, RecordedParent } from '../job/flows.js';
import { functionName, type FunctionRef } from '../job/job-definition.js';
import { defined } from '../job/defined.js';
import { recordsOf, showAs } from '../job/show-as.js';
import type { Claim } from '../job/job-source.js';
import type { StepRecords } from '../job/steps.js';

export interface JobParentsOptions {
  readonly claim: Claim;
  /** Absent in systems without flows. */
  readonly records: StepRecords | undefined;
  /** That of the handler's function. */
  readonly codec: Codec;
  /** That of functions whose definition names none. */
  readonly defaultCodec: Codec;
  /** Called if their outputs are many bytes. @param bytes as they are stored; the values that they become need more */
  readonly onLarge?: ((claim: Claim, bytes: number, count: number) => void) | undefined;
}

/** The outputs of a job's parents that are no longer few, in bytes: one handler holds all at once, as bytes and as values. */
const LARGE_BYTES = 64 * 1024 * 1024;

const asParent = recordsOf<ParentJob>('ParentJob');

/** The jobs that one run of a job waited for. */
export class JobParents {
  static {
    showAs(JobParents, () => ({}));
  }

  private recorded?: Promise<readonly RecordedParent[]>;

  constructor(private readonly options: JobParentsOptions) {}

  /** Those of one function, or all. @throws ConfigurationError · ParentLostError · UnreadablePayloadError */
  async of(ref: FunctionRef | undefined): Promise<ParentJob[]> {
    const { claim, records } = this.options;
    if (!records)
      throw new ConfigurationError(
        `The handler of "${claim.fn}" called job.parents, which is for jobs of GearMonkey and memory.`,
      );
    const fn = ref === undefined ? undefined : functionName(ref);
    const own = typeof ref === 'object' && ref.codec ? codecOf(ref.codec) : undefined;
    this.recorded ??= this.read(records);
    const chosen = (await this.recorded).filter((parent) => fn === undefined || parent.fn === fn);
    return chosen.map((parent) => this.decode(parent, own));
  }

  private async read(records: StepRecords): Promise<readonly RecordedParent[]> {
    const { claim, onLarge } = this.options;
    const parents = await records.parents(claim);
    const bytes = parents.reduce((sum, { output }) => sum + output.byteLength, 0);
    if (bytes > LARGE_BYTES) onLarge?.(claim, bytes, parents.length);
    return parents;
  }

  private decode({ fn, id, state, output, error }: RecordedParent, own: Codec | undefined): ParentJob {
    if (state === 'lost') throw new ParentLostError(fn, id);
    const { claim, codec, defaultCodec } = this.options;
    const used = own ?? (fn === claim.fn ? codec : defaultCodec);
    const value = state === 'succeeded' ? read(used, fn, 'output', output) : undefined;
    return asParent(defined({ fn, id, state, output: value, error }));
  }
}
