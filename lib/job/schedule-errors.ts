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

/** Code declares a schedule with this id, and another app has one. Nothing was changed. */
export class ScheduleOfOtherAppError extends GearMonkeyError {
  readonly code = 'SCHEDULE_OF_OTHER_APP';

  constructor(
    readonly id: string,
    /** The app that has it. */
    readonly app: string,
  ) {
    super(
      `The schedule "${id}" belongs to the app "${app}". Give this one another id, or take it over with forRoot({ app: { name, version, takeOver: true } }).`,
    );
  }
}

/** Another program has written a schedule that this one can't read. It creates no jobs. */
export class MalformedScheduleError extends GearMonkeyError {
  readonly code = 'MALFORMED_SCHEDULE';

  constructor(
    readonly id: string,
    readonly reason: string,
  ) {
    super(`The schedule "${id}" can't be used: ${reason}. Make it again with recur(), or remove it.`);
  }
}
