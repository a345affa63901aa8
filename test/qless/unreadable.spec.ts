import { describe, expect, it } from '@jest/globals';
import { runWorker } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useReplyLine } from './reply-line.js';
import { sourceOn } from './source-rig.js';

describe('a reply that can not be read', () => {
  const used = useReplyLine();

  it('is reported, its job is filed as failed, and the others of the same claim run', async () => {
    const problems: string[] = [];
    used.line.change = (reply) =>
      Buffer.from(reply.toString('latin1').replaceAll('"jid":"bad"', '"jid":?bad"'), 'latin1');
    const queue = used.client.queue('q');
    await queue.putMany(['a', 'bad', 'b', 'c'].map((jid) => ({ klass: 'K', jid })));
    const handled: string[] = [];
    const source = sourceOn(
      { connection: used.line.url },
      { onProblem: (message) => problems.push(message) },
    );
    await runWorker(source, 'K', (_, { id }) => void handled.push(id), { concurrency: 4 });
    await eventually(() => expect(handled).toHaveLength(3));
    await eventually(async () => expect((await used.client.jobs.get('bad'))?.state).toBe('failed'));
    expect(handled.toSorted()).toEqual(['a', 'b', 'c']);
    await expect(used.client.jobs.failures()).resolves.toEqual({ 'K:UnreadableJob': 1 });
    expect(problems).toEqual([
      expect.stringContaining('are taken one by one'),
      expect.stringContaining('Job bad is filed as failed'),
    ]);
    await expect(queue.counts()).resolves.toMatchObject({ running: 0, waiting: 0 });
  });
});
