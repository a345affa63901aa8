import type { FunctionRef, InputOf } from '../job/job-definition.js';
import { checkExpected, type ExpectedJob } from './expected-job.js';
import { TestJobs } from './test-jobs.js';
import { JobTestingError } from './testing-errors.js';

/** The matchers that `gearMonkeyMatchers` adds to `expect(jobs)`; add this interface to the types of your test runner. */
export interface GearMonkeyMatchers<R = void> {
  /** Passes if the app has enqueued such a job; otherwise the message shows what it enqueued instead. */
  toHaveEnqueued<F extends FunctionRef>(ref: F, expected?: ExpectedJob<InputOf<F>>): R;
}

/** Matchers for `expect` of Jest and vitest: `expect.extend(gearMonkeyMatchers)`. */
export const gearMonkeyMatchers: {
  toHaveEnqueued(
    jobs: unknown,
    ref: FunctionRef,
    expected?: ExpectedJob,
  ): { readonly pass: boolean; readonly message: () => string };
} = {
  toHaveEnqueued(jobs, ref, expected = {}) {
    const test = testOf(jobs);
    checkExpected('toHaveEnqueued', expected);
    const missing = test.jobs.missing(ref, expected);
    return {
      pass: missing === undefined,
      message: () => missing ?? test.jobs.present(ref, expected) ?? '',
    };
  },
};

/** @throws JobTestingError */
function testOf(jobs: unknown): TestJobs {
  if (jobs instanceof TestJobs) return jobs;
  if (typeof jobs === 'object' && jobs !== null && 'test' in jobs && jobs.test instanceof TestJobs)
    return jobs.test;
  throw new JobTestingError(
    'toHaveEnqueued wants the client of an app under test: expect(module.get(GearMonkeyTestClient)). Import ' +
      'GearMonkeyTestingModule.forRoot() or .override(AppModule) in its testing module.',
  );
}
