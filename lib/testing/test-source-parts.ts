import type { Clock } from '../job/clock.js';
import type { Changes } from './changes.js';
import type { FlowEnds } from './flow-ends.js';
import type { JobRecords } from './job-records.js';
import type { Permits } from './run-permits.js';
import type { TestBackend } from './test-backend.js';

/** The parts that a source shares with the rest of its test. */
export interface TestSourceParts {
  readonly instance: string;
  readonly clock: Clock;
  readonly backend: TestBackend;
  readonly records: JobRecords;
  readonly permits: Permits;
  readonly changes: Changes;
  readonly ends: FlowEnds;
  readonly onClose: () => void;
  /** Whether schedules create jobs. */
  readonly recurring: boolean;
  /** The client that enqueues its jobs, if it is not a GearMonkeyClient. */
  readonly client?: string | undefined;
}
