import { beforeEach, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient } from '../../../lib/gearmonkey/client.js';
import { partsOf } from '../../../lib/gearmonkey/features/edits/drain.js';
import type { DrainStep } from '../../../lib/gearmonkey/features/edits/edit-store.js';
import { EmbeddedStore } from '../../embedded/embedded-store.js';

/** A store that calls back before each step of a drain. */
class SteppedStore extends EmbeddedStore {
  before: () => Promise<unknown> = async () => undefined;
  readonly steps: DrainStep[] = [];

  constructor() {
    super();
    const drain = this.edits.drain.bind(this.edits);
    this.edits.drain = async (fn, step) => {
      await this.before();
      this.steps.push(step);
      return drain(fn, step);
    };
  }
}

describe('A drain', () => {
  let store: SteppedStore;
  let client: GearMonkeyClient;

  beforeEach(() => {
    store = new SteppedStore();
    client = new GearMonkeyClient(store);
  });

  it('leaves jobs that are created meanwhile', async () => {
    await client.runMany('fn', ['a', 'b']);
    store.before = () => client.run('fn', 'later');
    await expect(client.drain('fn')).resolves.toBe(2);
    const { jobs } = await client.list('fn', { state: 'waiting', order: 'oldest' });
    expect(jobs).toHaveLength(store.steps.length);
    expect(jobs[0]?.id).toBe('3');
  });

  it('ends before its next step when its signal aborts', async () => {
    await client.runMany('fn', ['a', 'b']);
    const ends = new AbortController();
    store.before = async () => ends.abort(new Error('enough'));
    await expect(client.drain('fn', { signal: ends.signal })).rejects.toThrow('enough');
    expect(store.steps).toHaveLength(1);
  });

  it('looks for jobs with a key once more behind those that become due meanwhile', () => {
    const [lists, time] = [['high', 'normal', 'low'], 'scheduled'];
    const queues = partsOf(['waiting', 'scheduled', 'retrying']).map(
      ({ queue, limited }) => `${queue}${limited ? ' limited' : ''}`,
    );
    const limited = [...lists, time, ...lists].map((queue) => `${queue} limited`);
    expect(queues).toEqual([...lists, time, ...limited]);
  });
});
