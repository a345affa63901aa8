import { ConflictException, HttpException, HttpStatus, NotFoundException } from '@nestjs/common';

/** Bodies of errors: a code for programs, and a message for people. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
}

export function jobNotFound(): NotFoundException {
  return new NotFoundException(
    body('JOB_NOT_FOUND', 'There is no such job: it never was, or was forgotten.'),
  );
}

export function workerNotFound(): NotFoundException {
  return new NotFoundException(
    body(
      'WORKER_NOT_FOUND',
      'There is no such worker: it left, or was forgotten. Register it with POST /worker.',
    ),
  );
}

export function constraintNotFound(): NotFoundException {
  return new NotFoundException(body('CONSTRAINT_NOT_FOUND', 'There is no such constraint.'));
}

export function notCancelable(): ConflictException {
  return new ConflictException(
    body('NOT_CANCELABLE', 'The job has begun, or has ended. Only waiting jobs can be cancelled.'),
  );
}

export function notRetriable(): ConflictException {
  return new ConflictException(
    body(
      'NOT_RETRIABLE',
      'The job has not failed. Only jobs of status error or retrying can be tried again.',
    ),
  );
}

export function notDiscardable(): ConflictException {
  return new ConflictException(
    body('NOT_DISCARDABLE', 'A worker has the job. It can be discarded before and after.'),
  );
}

export function notDead(): ConflictException {
  return new ConflictException(body('NOT_DEAD', 'The job is no dead letter: its status is not error.'));
}

export function reportRefused(): ConflictException {
  return new ConflictException(
    body(
      'REPORT_REFUSED',
      'The job is not with this worker any more, or its attempt is over. Nothing was changed.',
    ),
  );
}

export function notYet(): HttpException {
  return new HttpException(body('NOT_YET', 'The job has not ended. Ask again.'), HttpStatus.REQUEST_TIMEOUT);
}

export function tooMany(what: string): HttpException {
  return new HttpException(body('TOO_MANY', `There are too many ${what}.`), HttpStatus.TOO_MANY_REQUESTS);
}

function body(code: string, message: string): ErrorBody {
  return { code, message };
}
