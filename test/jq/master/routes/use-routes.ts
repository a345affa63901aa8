import { beforeEach, expect } from '@jest/globals';
import { useMaster, type UsedMaster } from '../use-master.js';

export const NO_JOB = '000000000fff-00000000';
export const NO_WORKER = 'f'.repeat(16);
export const JOB = { name: 'mail', argument: { to: 'a@b' } };

/** The body of an error. */
export const failure = (code: string, message: unknown = expect.any(String)) => ({ code, message });

export interface UsedRoutes {
  readonly master: UsedMaster;
  /** One that pulls, registered for each test. */
  readonly worker: string;
  /** The job that it gets; there has to be one. */
  pulled(): Promise<{ readonly id: string; readonly attempt: number }>;
}

/** For a `describe`: a master whose state is empty before each test, and a worker. */
export function useRoutes(): UsedRoutes {
  const master = useMaster({ maxBodyBytes: 100_000 });
  let worker = '';
  beforeEach(async () => {
    await master.redis.redis.flushall();
    worker = await master.register({ max_jobs: 100 });
  });
  return {
    master,
    get worker() {
      return worker;
    },
    pulled: async () => {
      const { status, body } = await master.pull(worker);
      expect(status).toBe(200);
      return body as { id: string; attempt: number };
    },
  };
}
