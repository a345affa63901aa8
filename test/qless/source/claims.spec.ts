import { describe, expect, it } from '@jest/globals';
import { qless, type QlessOptions } from '../../../lib/qless/index.js';
import type { Orphans } from '../../../lib/qless/source/orphans.js';
import { claim } from '../../../lib/qless/wire/source-scripts.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';
import { claimOne, claimUpTo, success } from '../../contract/claiming.js';
import { eventually } from '../../support/until.js';
import { useSource } from './use-source.js';

const used = useSource();

describe('qless()', () => {
  const build = (options: object) => () =>
    qless({ connection: used.url, queues: ['q'], ...options } as QlessOptions);

  it.each([
    [{ queues: [] }, 'Expected `queues` to be names of queues'],
    [{ queues: [''] }, 'Expected `queues`'],
    [{ queues: 'mail' }, 'Expected `queues`'],
    [{ popping: 'random' }, "Expected `popping` to be 'ordered' or 'round-robin', got \"random\""],
    [{ worker: '' }, 'Expected `worker`'],
    [{ lock: 0 }, 'Expected `lock`'],
    [{ prefix: 'a b' }, '`prefix` of qless must be text without white space'],
    [{ connection: 'localhost' }, '`connection` is not a URL'],
    [{ connection: { nodes: [7000] }, prefix: 'ql:' }, 'needs a hash tag'],
  ])('refuses %j', (options, message) => {
    expect(build(options)).toThrow(message);
  });
});

describe('popping', () => {
  /** The example of the original's documents: five jobs in A, two in B, three in C. */
  async function fill() {
    for (const [queue, count] of Object.entries({ A: 5, B: 2, C: 3 }))
      await used.client
        .queue(queue)
        .putMany(Array.from({ length: count }, () => ({ klass: 'K', data: queue })));
  }

  const EXPECTED = { ordered: 'CCCBBAAAAA', 'round-robin': 'CBACBACAAA' } as const;
  const cases = (['ordered', 'round-robin'] as const).flatMap((popping) =>
    [1, 4, 10].map((slots) => [popping, slots] as const),
  );

  it.each(cases)(
    '%s with %i slots takes jobs in the order that the original documents',
    async (popping, slots) => {
      await fill();
      const source = await used.open({ queues: ['C', 'B', 'A'], popping });
      let order = '';
      while (order.length < 10) {
        const claims = await claimUpTo(source, 'K', slots);
        expect(claims.length).toBeLessThanOrEqual(slots);
        order += claims.map(({ input }) => JSON.parse(Buffer.from(input).toString()) as string).join('');
      }
      expect(order).toBe(EXPECTED[popping]);
    },
  );

  it.each(['ordered', 'round-robin'] as const)('%s is the same for a client', async (popping) => {
    await fill();
    const popper = used.client.popper(['C', 'B', 'A'], { popping });
    const jobs = [...(await popper.pop({ count: 4 })), ...(await popper.pop({ count: 6 }))];
    expect(jobs.map(({ data }) => data).join('')).toBe(EXPECTED[popping]);
  });

  it.each(['ordered', 'round-robin'] as const)(
    '%s hands no job out twice where a queue is named twice',
    async (popping) => {
      const jids = await used.client.queue('d').putMany(Array.from({ length: 6 }, () => ({ klass: 'K' })));
      const jobs = await used.client.popper(['d', 'd'], { popping }).pop({ count: 6 });
      expect(jobs.map(({ jid }) => jid)).toEqual(jids);
      await used.client.queue('e').putMany(Array.from({ length: 6 }, () => ({ klass: 'K' })));
      const rows = ['e', 0, 'e', 0];
      const claimed = await claim.run(used.redis, ['ql:'], '', 'w', '', popping, 1, 6, '', '', 0, [], rows);
      expect(new Set(claimed.jobs.map(({ jid }) => jid)).size).toBe(claimed.jobs.length);
      await expect(used.client.queue('e').stats()).resolves.toMatchObject({
        wait: { count: claimed.jobs.length },
      });
    },
  );

  it('leaves a job whose jid is not text to other workers, since its outcome could not be sent', async () => {
    const odd = Buffer.from([0xff, 0x01]);
    const job = { jid: odd, klass: 'K', data: '{}', priority: 9, tags: '[]', state: 'waiting', queue: 'q' };
    await used.redis.hset(Buffer.from([...Buffer.from('ql:j:'), ...odd]), {
      ...job,
      worker: '',
      retries: 5,
      remaining: 5,
      time: 1,
    });
    await used.redis.zadd('ql:q:q-work', 9, odd);
    const jid = await used.client.queue('q').put('K', {}, { jid: 'ünïcode€😀' });
    const claims = await claimUpTo(await used.open(), 'K', 5);
    expect(claims.map(({ id }) => id)).toEqual([jid]);
    await expect(used.redis.zcard('ql:q:q-work')).resolves.toBe(1);
  });

  it('takes higher priorities first, and nothing of a paused queue', async () => {
    const queue = used.client.queue('q');
    await queue.put('K', 'low', { priority: -1 });
    await queue.put('K', 'high', { priority: 1 });
    await used.client.queue('paused').put('K', 'never');
    await used.client.queue('paused').pause();
    const source = await used.open({ queues: ['paused', 'q'] });
    const claims = await claimUpTo(source, 'K', 5);
    expect(claims.map(({ input }) => Buffer.from(input).toString())).toEqual(['"high"', '"low"']);
  });

  it('keeps to max-concurrency', async () => {
    await used.client.config.set('q-max-concurrency', 2);
    await used.client.queue('q').putMany(Array.from({ length: 4 }, () => ({ klass: 'K' })));
    await expect(claimUpTo(await used.open(), 'K', 9)).resolves.toHaveLength(2);
  });
});

describe('slots', () => {
  it('of one klass take no jobs of another', async () => {
    const queue = used.client.queue('q');
    await queue.putMany(Array.from({ length: 3 }, () => ({ klass: 'K' })));
    const other = await queue.put('Other');
    const source = await used.open({}, ['K', 'Other']);
    const slots = new SlotTable([
      ['K', 1],
      ['Other', 3],
    ]);
    const claims = await source.claim(slots, AbortSignal.timeout(60_000));
    expect(claims.map(({ fn }) => fn).sort()).toEqual(['K', 'Other']);
    expect(claims.map(({ id }) => id)).toContain(other);
  });
});

describe('a source whose claim may have been lost', () => {
  it('gives back what it does not hold, and keeps the jobs that run', async () => {
    const queue = used.client.queue('q');
    await queue.put('K', {}, { jid: 'runs' });
    const source = await used.open({ worker: 'w' });
    const claim = await claimOne(source, 'K');
    await queue.put('K', {}, { jid: 'lost' });
    await used.client.popper(['q'], { worker: 'w' }).pop();
    (Reflect.get(source, 'orphans') as Orphans).suspect();
    await expect(claimOne(source, 'K')).resolves.toMatchObject({ id: 'lost' });
    await expect(used.historyOf('runs')).resolves.toEqual(['put', 'popped']);
    await expect(source.settle([success(claim)])).resolves.toEqual([]);
  });
});

describe('jobs of a klass without a handler here', () => {
  it('stay in their queue, are reported once, and jobs behind them are found', async () => {
    const problems: string[] = [];
    const queue = used.client.queue('q');
    const foreign = await queue.putMany(Array.from({ length: 1300 }, () => ({ klass: 'Ruby' })));
    const jid = await queue.put('K');
    const source = await used.open({ onProblem: (message) => problems.push(message) });
    await expect(claimOne(source, 'K')).resolves.toMatchObject({ id: jid });
    expect(problems).toEqual([expect.stringContaining('Jobs of klass "Ruby" wait in q')]);
    await expect(queue.counts()).resolves.toMatchObject({ waiting: foreign.length, running: 1 });
    const [first] = await queue.pop();
    expect(first?.jid).toBe(foreign[0]);
  });

  it('wake a worker that handles them', async () => {
    const [ours, theirs] = [await used.open({}, ['K']), await used.open({}, ['Other'])];
    const abort = new AbortController();
    const never = ours.claim(new SlotTable([['K', 1]]), abort.signal);
    const claimed = claimOne(theirs, 'Other');
    await eventually(async () => expect(await used.redis.zcard('ql:idlers:q')).toBe(2));
    await used.client.queue('q').put('Other');
    await claimed;
    abort.abort();
    await expect(never).resolves.toEqual([]);
  });
});
