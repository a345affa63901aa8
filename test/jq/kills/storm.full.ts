import { afterEach, describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { listenMaster } from '../../../lib/jq/master/listen-master.js';
import { RedisServer } from '../../support/redis-server.js';
import { eventually, until } from '../../support/until.js';
import { useRedisServer } from '../../support/use-redis.js';
import { faultsOf, mostAtOnce, rerunsOf, type Event } from './history.js';
import { leftoversOfJobs } from './leftovers.js';
import { PlainFleetWorker } from './plain-fleet.js';

/** Jobs of each stretch, and workers that only stand by; the long form: JQ_STORM=50. */
const SCALE = Number(process.env['JQ_STORM'] ?? 1);
const JOBS = 60 * SCALE;
const BYSTANDERS = Math.min(2000 * SCALE, 9000);
/** Those that run jobs. They and the others come from one address. */
const FLEET = 3;
const NAMES = 200;
const AT_ONCE = 20;
const LIMIT = 3;
/** All jobs share a limit, so that they run a few at a time. */
const PATIENCE_MS = 90_000 + 200 * JOBS;
const SOON = { backoff: 50, grace: 500, pushTimeout: '5s', suspect: 20, suspectCap: 200 } as const;

/** Values that a constraint looks at and can't make much of: 64 bits, NaN, a wrong timestamp, no UTF-8, maps and lists. */
const ODD = [
  'cf8000000000000000',
  'cb7ff8000000000000',
  'c700ff',
  'd6ff00000001',
  'c403000102',
  'a2c328',
  '9101',
  '8101c0',
  'c0',
  'a474656e31',
].map((hex) => Buffer.from(hex, 'hex'));
const CONSTRAINTS = [
  { match: [{ field: 'argument.tenant', exists: true }], per: 'argument.tenant', concurrency: LIMIT },
  { match: [{ field: 'argument.tenant', min: 0 }], concurrency: LIMIT },
  { match: [{ field: 'argument.tenant', glob: 't*' }], rate: { count: 1000, period: 1 } },
  { match: [{ field: 'name', equal: 'work' }], concurrency: LIMIT * 2 },
];

describe('a storm', () => {
  const used = useRedisServer(['--appendonly', 'no']);
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  it(
    'of thousands of workers, odd values under constraints, a full Redis and a failover loses nothing',
    async () => {
      const next = await RedisServer.start();
      closing.push(() => next.stop());
      let port = used.port;
      const line = createServer((near) => {
        const far = connect(port, '127.0.0.1');
        near.on('error', () => far.destroy()).on('close', () => far.destroy());
        far.on('error', () => near.destroy()).on('close', () => near.destroy());
        near.pipe(far).pipe(near);
      });
      line.listen(0, '127.0.0.1');
      await once(line, 'listening');
      closing.push(() => line.close());
      const connection = `redis://127.0.0.1:${(line.address() as AddressInfo).port}`;
      const options = { connection, port: 0, maxWorkersPerClient: BYSTANDERS + FLEET, ...SOON };
      const masters = await Promise.all([1, 2].map(() => listenMaster(options)));
      for (const master of masters) closing.push(() => master.close());
      const urls = masters.map(({ url }) => url);
      const events: Event[] = [];
      const pushers = new Pushers(urls, events);

      await Promise.all(
        CONSTRAINTS.map((constraint) => pushers.ask('POST', '/constraints', encode(constraint))),
      );
      await pushers.inParallel(BYSTANDERS, (n) => {
        const url = n % 2 === 0 ? { url: `http://127.0.0.1:9/${n}` } : {};
        const worker = { name: 'stands by', max_jobs: 1, names: [`other-${n % NAMES}`], ...url };
        return pushers.ask('POST', '/worker', encode(worker));
      });
      const plain = { masters: urls, names: ['work'], events };
      const here = (url: string) => Promise.resolve(url);
      const fleet = await Promise.all([
        PlainFleetWorker.start({ ...plain, reachedBy: here }),
        PlainFleetWorker.start({ ...plain, reachedBy: here, batch: 10 }),
        PlainFleetWorker.start(plain),
      ]);

      await pushers.push(JOBS);
      await eventually(() => expect(pushers.open).toBeLessThan(JOBS / 2), { timeout: PATIENCE_MS });

      // Full: what is there is worked off, and what comes is refused until there is room.
      await used.redis.config('SET', 'maxmemory-policy', 'noeviction');
      await used.redis.config('SET', 'maxmemory', 1);
      const late = pushers.push(JOBS);
      await eventually(() => expect([pushers.open, pushers.refusals > 0]).toEqual([0, true]), {
        timeout: PATIENCE_MS,
      });
      await used.redis.config('SET', 'maxmemory', 0);
      await late;

      // A failover that loses no write and leaves all connections open, while jobs run.
      const replica = new Redis(next.url);
      closing.push(() => replica.disconnect());
      await replica.replicaof('127.0.0.1', used.port);
      // Its server has to know it as online: it says itself that the link is up before that.
      await until(async () => /slave0:.*state=online/.test(await used.redis.info('replication')), {
        timeout: PATIENCE_MS,
      });
      const during = pushers.push(JOBS);
      await used.redis.call('FAILOVER', 'TO', '127.0.0.1', String(next.port), 'TIMEOUT', '20000');
      await until(async () => (await replica.info('replication')).includes('role:master'));
      port = next.port;
      await during;

      // Before they are asked for one by one: thousands of such requests would leave the masters no time for anything else.
      await eventually(() => expect(pushers.open).toBe(0), { timeout: PATIENCE_MS });
      const ended = await pushers.ends(PATIENCE_MS);
      await Promise.all(fleet.map((worker) => worker.leave()));
      const history = [...events, ...ended];
      expect(faultsOf(history)).toEqual([]);
      expect(ended).toHaveLength(3 * JOBS);
      expect(mostAtOnce(history)).toBeLessThanOrEqual(LIMIT * 2);
      // If the failover loses a turn's reply, the jobs it handed out are not pushed: they go back, and that is no rerun.
      expect(rerunsOf(history, new Set())).toEqual([]);
      await eventually(async () => expect(await leftoversOfJobs(replica)).toEqual([]), {
        timeout: PATIENCE_MS,
      });
    },
    PATIENCE_MS * 5,
  );
});

/** Clients that ask again until they are answered. */
class Pushers {
  refusals = 0;
  private calls = 0;
  private readonly ran = new Set<string>();

  constructor(
    private readonly urls: readonly string[],
    private readonly events: Event[],
  ) {}

  /** How many have been accepted and not run. */
  get open(): number {
    for (const event of this.events) if (event.type === 'ran') this.ran.add(event.job);
    return this.accepted.length - this.ran.size;
  }

  get accepted(): readonly string[] {
    return this.events.flatMap((event) => (event.type === 'accepted' ? [event.job] : []));
  }

  push(count: number): Promise<void> {
    return this.inParallel(count, async (n) => {
      const key = randomUUID();
      const tenant = ODD[n % ODD.length] ?? Buffer.alloc(0);
      const head = encode({ name: 'work', keep_result: true, timeout: 60 });
      // One field more than the head says: the argument as its bytes are.
      const body = Buffer.concat([Buffer.from([(head[0] ?? 0) + 1]), head.subarray(1), ARGUMENT, tenant]);
      const reply = await this.ask('POST', '/job', body, { 'idempotency-key': key });
      this.events.push({ type: 'accepted', key, job: String((reply as { job_id?: string }).job_id) });
    });
  }

  ends(timeout: number): Promise<Event[]> {
    return Promise.all(
      this.accepted.map(async (job): Promise<Event> => {
        let seen: unknown;
        const view = await until(
          async () => {
            const reply = (await this.ask('GET', `/job/${job}`)) as { status: string; result: unknown };
            seen = reply;
            return reply.status === 'done' || reply.status === 'error' ? reply : undefined;
          },
          { timeout, interval: 100, message: `Job ${job} did not end`, seen: () => [this.open, seen] },
        );
        return { type: 'ended', job, status: view.status, result: view.result };
      }),
    );
  }

  async inParallel(count: number, one: (n: number) => Promise<unknown>): Promise<void> {
    let next = 0;
    const lane = async () => {
      for (let n = next++; n < count; n = next++) await one(n);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
  }

  async ask(
    method: string,
    path: string,
    body?: Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<unknown> {
    let seen: unknown;
    const accept = { accept: 'application/json' };
    const typed: Record<string, string> = body ? { 'content-type': 'application/msgpack' } : {};
    return until(
      async () => {
        const url = (this.urls[this.calls++ % this.urls.length] ?? '') + path;
        const sent = { method, headers: { ...accept, ...typed, ...headers }, ...(body ? { body } : {}) };
        const reply = await fetch(url, sent).catch(() => undefined);
        const text = await reply?.text().catch(() => undefined);
        if (reply?.ok === true && text !== undefined) return text === '' ? {} : (JSON.parse(text) as object);
        if (reply !== undefined && reply.status < 429)
          throw new Error(`${method} ${path}: ${reply.status} ${text}`);
        this.refusals += 1;
        seen = { status: reply?.status, text };
        return undefined;
      },
      { timeout: PATIENCE_MS, interval: 50, message: `No answer to ${method} ${path}`, seen: () => seen },
    );
  }
}

/** The key "argument", and a map whose one key is "tenant". */
const ARGUMENT = Buffer.concat([encode('argument'), Buffer.from([0x81]), encode('tenant')]);
