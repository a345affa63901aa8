import type { FunctionRef, InputOf } from '../../../job/job-definition.js';
import type { JobStore } from '../../core/client/job-store.js';
import type { ClientCore } from '../../core/feature.js';
import { JobSchedules } from './job-schedules.js';
import type { ScheduleOptions } from './recur-options.js';
import type { SchedulesStore } from './schedule-store.js';
import type { Schedule } from './schedule.js';

/** What a `GearMonkeyClient` has for recurring jobs. */
export class SchedulesClient {
  readonly #schedules: JobSchedules;

  /** @internal */
  constructor(core: ClientCore<JobStore & SchedulesStore>) {
    this.#schedules = new JobSchedules(core);
  }

  /** The schedules of recurring jobs: list, read, change, pause and remove them. */
  get schedules(): JobSchedules {
    return this.#schedules;
  }

  /**
   * Makes a schedule, or changes the one with this id: from then on workers of the function create a job at each of its
   * times, once among all processes. A call that changes nothing does nothing, so each process may make it when it starts.
   *
   * @throws ConfigurationError, InvalidOptionError, and errors of the input as `run`, before anything is written ·
   * ScheduleExistsError if another function has a schedule with this id
   */
  async recur<F extends FunctionRef>(
    ref: F,
    options: ScheduleOptions<InputOf<F>>,
  ): Promise<Schedule<InputOf<F>>> {
    return this.#schedules.put(ref, options);
  }
}
