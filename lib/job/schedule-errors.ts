import { GearMonkeyError } from './gearmonkey-error.js';

/** No schedule has this id. */
export class ScheduleNotFoundError extends GearMonkeyError {
  readonly code = 'SCHEDULE_NOT_FOUND';

  constructor(readonly id: string) {
    super(`There is no schedule "${id}". Make it with recur(), or see schedules.list().`);
  }
}

/** Another function has a schedule with this id. Nothing was changed. */
export class ScheduleExistsError extends GearMonkeyError {
  readonly code = 'SCHEDULE_EXISTS';

  constructor(
    readonly id: string,
    /** The function that has it. */
    readonly fn: string,
  ) {
    super(
      `The schedule "${id}" belongs to "${fn}". Choose another id, or remove that one with schedules.remove().`,
    );
  }
}
