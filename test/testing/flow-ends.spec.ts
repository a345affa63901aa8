import { expect, it } from '@jest/globals';
import { EmbeddedStore } from '../embedded/embedded-store.js';
import { FlowEnds } from '../../lib/testing/flow-ends.js';
import { JobRecords } from '../../lib/testing/job-records.js';

const PARTS = 500;

it('reads the jobs of a flow a few times in all, not with each end', async () => {
  const store = new EmbeddedStore();
  const records = new JobRecords(() => undefined);
  let read = 0;
  const counting = {
    read: (fn: string, ids: readonly string[]) => {
      read += ids.length;
      return store.read(fn, ids);
    },
  };
  const ends = new FlowEnds(counting, records, () => undefined);
  const added = { payload: '1', placement: { queue: 'normal' } as const, created: 0, performed: false };
  const root = { fn: 'split', id: '1' };
  const parts = Array.from({ length: PARTS }, (_, index) => ({ fn: 'encode', id: `${index + 1}` }));
  records.add({ ...added, ...root, after: [] });
  for (const part of parts) records.add({ ...added, ...part, after: [root] });
  records.add({ ...added, fn: 'join', id: '1', after: parts });
  for (const job of [root, ...parts]) {
    records.note(job.fn, job.id, 'started');
    records.note(job.fn, job.id, 'done');
    await ends.note();
  }
  // Each part once behind the first job, and the last one with each end before its own.
  expect(read).toBe(2 * PARTS);
});

it('notes the ends of jobs that ended one behind the other', async () => {
  const fields = new Map([['finished', Buffer.from('1')]]);
  const records = new JobRecords(() => undefined);
  const ended: string[] = [];
  const ends = new FlowEnds({ read: async () => [fields] }, records, ({ fn, id }) => {
    records.note(fn, id, 'failed');
    ended.push(fn);
  });
  const added = { payload: '1', placement: { queue: 'normal' } as const, created: 0, performed: false };
  records.add({ ...added, fn: 'split', id: '1', after: [] });
  records.add({ ...added, fn: 'join', id: '1', after: [{ fn: 'split', id: '1' }] });
  records.add({ ...added, fn: 'publish', id: '1', after: [{ fn: 'join', id: '1' }] });
  records.note('split', '1', 'failed');
  await ends.note();
  expect(ended).toEqual(['join', 'publish']);
});
