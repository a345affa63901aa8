import { describe, expect, it } from '@jest/globals';
import { mayRetry } from '../../../lib/jobd/storage/accepted-job.js';
import type { AcceptedJob } from '../../../lib/jobd/storage/accepted-job.js';
import type { OptionalColumn } from '../../../lib/jobd/storage/table-setup.js';

describe('A row that a worker of this package runs', () => {
  const row = (origin: AcceptedJob['origin']): AcceptedJob =>
    ({ id: 1, target: 'any', attempts: 0, origin }) as AcceptedJob;
  const columns = (...names: OptionalColumn[]) => new Set(names);

  it.each<[string, AcceptedJob, ReadonlySet<OptionalColumn>, boolean]>([
    ['where the table has the columns for it', row('waiting'), columns('attempts', 'time_scheduled'), true],
    ['not without a count of attempts', row('waiting'), columns('time_scheduled'), false],
    ['not without a time', row('waiting'), columns('attempts'), false],
    ['not if a client waits for it', row('manual'), columns('attempts', 'time_scheduled'), false],
  ])('is tried again %s', (_, job, names, expected) => {
    expect(mayRetry(job, names)).toBe(expected);
  });
});
