import { describe, expect, it } from '@jest/globals';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useReplyLine } from './reply-line.js';
import { sourceOn } from './source-rig.js';

describe('a worker with one slot', () => {
  const used = useReplyLine();

  it('needs one round trip a job: the outcome and the next claim go together', async () => {
    const gates = new Map(['first', 'a', 'b', 'c'].map((jid) => [jid, gate()]));
    await used.client.queue('q').putMany([...gates.keys()].map((jid) => ({ klass: 'K', data: {}, jid })));
    const started: string[] = [];
    await runWorker(
      sourceOn({ connection: used.line.url }),
      'K',
      async (_, { id }) => {
        started.push(id);
        await gates.get(id)?.passed;
      },
      { concurrency: 1 },
    );
    const stateOf = async (jid: string) => (await used.client.jobs.get(jid))?.record.state;
    // Until here the server has not seen the scripts, which costs a round trip more.
    gates.get('first')?.open();
    for (const [jid, next] of [
      ['a', 'b'],
      ['b', 'c'],
    ] as const) {
      await eventually(() => expect(started).toContain(jid));
      used.line.hold();
      gates.get(jid)?.open();
      await until(async () => (await stateOf(jid)) === 'complete' && (await stateOf(next)) === 'running');
      expect(started).not.toContain(next);
      used.line.release();
    }
    gates.get('c')?.open();
    await eventually(async () => expect(await stateOf('c')).toBe('complete'));
  });
});
