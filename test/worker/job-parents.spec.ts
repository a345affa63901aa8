import { describe, expect, it } from '@jest/globals';
import { codecOf } from '../../lib/job/codec.js';
import type { RecordedParent } from '../../lib/job/flows.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { JobParents } from '../../lib/worker/job-parts.js';
import { claimOf, KeptRecords } from './kept-records.js';

const parent = (fn: string, id: string, output: string): RecordedParent => ({
  ...{ fn, id, state: 'succeeded' },
  output: Buffer.from(output),
});
const failed: RecordedParent = {
  ...{ fn: 'resize', id: '3', state: 'failed', output: new Uint8Array() },
  error: { name: 'Error', message: 'no' },
};

describe('JobParents', () => {
  /** The parents of one run, and how often they were read. */
  function parentsOf(...recorded: RecordedParent[]) {
    let reads = 0;
    const records = Object.assign(new KeptRecords(), {
      parents: async () => {
        reads += 1;
        return recorded;
      },
    });
    const [codec, defaultCodec] = [codecOf('text'), codecOf('json')];
    const large: unknown[] = [];
    const onLarge = (...told: unknown[]) => void large.push(told.slice(1));
    const parents = new JobParents({ claim: claimOf(1), records, codec, defaultCodec, onLarge });
    return { parents, reads: () => reads, large };
  }

  it('has all of them in their order, or those of one function, and reads them once', async () => {
    const { parents, reads } = parentsOf(parent('load', '2', '{"a":1}'), failed, parent('resize', '4', '7'));
    const load = { fn: 'load', id: '2', state: 'succeeded', output: { a: 1 } };
    const error = { fn: 'resize', id: '3', state: 'failed', error: { name: 'Error', message: 'no' } };
    const resize = { fn: 'resize', id: '4', state: 'succeeded', output: 7 };
    expect((await parents.of(undefined)).map((each) => ({ ...each }))).toEqual([load, error, resize]);
    expect((await parents.of('resize')).map(({ id }) => id)).toEqual(['3', '4']);
    await expect(parents.of('other')).resolves.toEqual([]);
    expect(reads()).toBe(1);
  });

  it('reads outputs by the codec of their function: that of a definition, its own, or the default', async () => {
    const { parents } = parentsOf(parent('fn', '2', '7'), parent('other', '3', '7'));
    const outputs = async (...ref: Parameters<JobParents['of']>) =>
      (await parents.of(...ref)).map(({ output }) => output);
    await expect(outputs(undefined)).resolves.toEqual(['7', 7]);
    await expect(outputs(defineJob('other', { codec: 'text' }))).resolves.toEqual(['7']);
  });

  it('fails if one is no longer kept', async () => {
    const { parents } = parentsOf(parent('a', '2', '1'), { ...failed, fn: 'b', state: 'lost' });
    await expect(parents.of('a')).resolves.toHaveLength(1);
    await expect(parents.of(undefined)).rejects.toMatchObject({ code: 'PARENT_LOST', id: '3' });
  });

  it('tells of outputs that are more than 64 MiB together, once', async () => {
    const mib = `"${'x'.repeat(2 ** 20 - 2)}"`;
    const some = Array.from({ length: 65 }, (_, i) => parent('load', String(i), mib));
    const few = parentsOf(...some.slice(1));
    await few.parents.of(undefined);
    expect(few.large).toEqual([]);
    const many = parentsOf(...some);
    await many.parents.of('none');
    await many.parents.of('load');
    expect(many.large).toEqual([[65 * 2 ** 20, 65]]);
  });
});
