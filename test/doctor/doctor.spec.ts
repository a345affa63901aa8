import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, rmdir } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { diagnose, type DiagnoseOptions } from '../../lib/doctor/diagnose.js';
import type { Finding } from '../../lib/gearmonkey/core/examination.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import * as scripts from '../../lib/gearmonkey/core/wire/scripts.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { runGearMonkey, valuesOf } from '../cli/gearmonkey-process.js';
import { submit } from '../gearmonkey/redis-rig.js';
import { useGearMonkey } from '../gearmonkey/use-gearmonkey.js';
import { useRedisServer } from '../support/use-redis.js';
import { RedisServer } from '../support/redis-server.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { killProcesses } from '../support/test-process.js';
import { until } from '../support/until.js';
import { inFullTier } from '../support/tier.js';

const LONG_AGO_MS = 120_000;

describe('doctor', () => {
  const rig = useGearMonkey(useRedisServer());
  let connection: RedisConnection;
  afterEach(killProcesses);
  beforeAll(async () => {
    connection = new RedisConnection(rig.url, 'commands');
    await rig.redis.config('SET', 'appendonly', 'yes');
  });
  afterAll(() => connection.close());

  /** A busy machine may make any script slow. */
  const patient = { keysOf, slowScript: 3_600_000 };
  const examine = (options: Partial<DiagnoseOptions> = {}) =>
    diagnose(connection, { ...patient, ...options });
  const findingsOf = async (...functions: string[]) => (await examine({ functions })).findings;
  const codesOf = async (...functions: string[]) => (await findingsOf(...functions)).map(({ code }) => code);
  const fix = async (findings: readonly Finding[]) => {
    for (const finding of findings) await finding.fix?.apply();
  };
  const longAgo = () => Date.now() - LONG_AGO_MS;

  /** A worker that claimed a job long ago and died. */
  async function claimLongAgo(fn: string) {
    const k = keysOf(fn);
    const keys = [k.jobs, k.locks, k.leases, k.scheduled, k.high, k.normal, k.low, k.wake, k.channel];
    await scripts.claim.run(rig.redis, [...keys, k.control], longAgo(), 8000, 1, 3, 0, 1024, '', '', []);
  }

  it('finds nothing on a healthy busy system', async () => {
    const [fn, retried, scheduled] = [rig.fn(), rig.fn(), rig.fn()];
    await runWorker(rig.source(), fn, () => 'done');
    await runWorker(rig.source(), scheduled, () => 'done');
    await runWorker(
      rig.source(),
      retried,
      (_, job) => {
        if (job.attempts === 1) throw new Error('once');
      },
      { retry: { attempts: 2, delay: 1 } },
    );
    await rig.client.recur(scheduled, { id: 'often', every: '1s' });
    let isOver = false;
    const busy = (async () => {
      while (!isOver) await Promise.all([fn, retried].map((each) => rig.client.runMany(each, [1, 2, 3])));
    })();
    try {
      await until(async () => (await rig.client.get(retried, '1'))?.state === 'succeeded');
      const { findings, skipped, functions } = await examine();
      expect(findings).toEqual([]);
      expect(skipped).toEqual([]);
      expect(functions).toEqual(expect.arrayContaining([fn, retried, scheduled]));
    } finally {
      isOver = true;
      await busy;
      await rig.client.schedules.remove('often');
    }
  });

  it('finds functions of a Redis that only plain programs use, and their jobs without a worker', async () => {
    const fn = rig.fn('plain');
    await rig.redis.incr(`count:${fn}`);
    await submit(rig.redis, fn, 'x');
    await rig.redis.set('count:of:another:program', 'text');
    const { findings, functions } = await examine();
    expect(functions).toContain(fn);
    expect(functions).not.toContain('of:another:program');
    expect(findings.filter((finding) => finding.fn === fn)).toEqual([]);
    await rig.redis.decr(`count:${fn}`);
    await expect(codesOf(fn)).resolves.toEqual(['NO_WORKER']);
    await runWorker(rig.source(), fn, () => 'done');
    await expect(codesOf(fn)).resolves.toEqual([]);
  });

  it('knows functions from their index, also where it may not scan keys', async () => {
    const fn = rig.fn();
    await rig.client.run(fn, 1, { delay: '1h' });
    await until(async () => (await rig.redis.zscore('functions', fn)) !== null);
    await rig.redis.zadd('functions', Date.now(), 'gone');
    await rig.redis.call('ACL', 'SETUSER', 'indexed', 'on', '>secret', '~*', '&*', '+@all', '-scan');
    const indexed = new RedisConnection(rig.url.replace('//', '//indexed:secret@'), 'commands');
    try {
      const { functions, skipped } = await diagnose(indexed, patient);
      expect(functions).toContain(fn);
      expect(functions).not.toContain('gone');
      expect(skipped).toEqual([expect.objectContaining({ what: 'SCAN' })]);
    } finally {
      indexed.close();
    }
  });

  it.each([
    ['EVICTION', 'maxmemory-policy', 'allkeys-lru', 'noeviction'],
    ['PERSISTENCE', 'appendonly', 'no', 'yes'],
  ])('finds %s, which the remedy ends', async (code, setting, wrong, right) => {
    await rig.redis.config('SET', setting, wrong);
    await expect(codesOf('x')).resolves.toEqual([code]);
    await rig.redis.config('SET', setting, right);
    await expect(codesOf('x')).resolves.toEqual([]);
  });

  it('finds MEMORY, which the remedy ends', async () => {
    await until(async () => {
      const used = Number(/used_memory:(\d+)/.exec(await rig.redis.info('memory'))?.[1]);
      await rig.redis.config('SET', 'maxmemory', String(Math.round(used * 1.02)));
      return (await codesOf('x')).join() === 'MEMORY';
    });
    await rig.redis.config('SET', 'maxmemory', '0');
    await expect(codesOf('x')).resolves.toEqual([]);
  });

  it('finds SAVE_FAILED, which the remedy ends', async () => {
    const inTheWay = join(rig.on.server.directory, 'dump.rdb');
    const saved = async (status: string) => {
      await rig.redis.bgsave().catch(() => undefined);
      return (await rig.redis.info('persistence')).includes(`rdb_last_bgsave_status:${status}`);
    };
    await mkdir(inTheWay);
    await until(() => saved('err'), { interval: 100 });
    await expect(codesOf('x')).resolves.toEqual(['SAVE_FAILED']);
    await rmdir(inTheWay);
    await until(() => saved('ok'), { interval: 100 });
    await expect(codesOf('x')).resolves.toEqual([]);
  });

  inFullTier(() => {
    it('finds REPLICA and REPLICA_BEHIND, which the remedies end', async () => {
      const late = [
        '--repl-diskless-sync',
        'yes',
        '--repl-diskless-sync-delay',
        '3600',
        '--appendonly',
        'yes',
      ];
      const master = await RedisServer.start(late);
      const replica = await RedisServer.start(['--replicaof', '127.0.0.1', String(master.port)]);
      const [toMaster, toReplica] = [master, replica].map(({ url }) => new RedisConnection(url, 'commands'));
      try {
        const codes = async (other: RedisConnection | undefined) =>
          other && (await diagnose(other, patient)).findings.map(({ code }) => code);
        await until(async () => (await codes(toMaster))?.includes('REPLICA_BEHIND'), { interval: 100 });
        await expect(codes(toReplica)).resolves.toContain('REPLICA');
        await (await toMaster?.ready())?.config('SET', 'repl-diskless-sync-delay', '0');
        await until(async () => (await codes(toMaster))?.length === 0, { interval: 100, timeout: 60_000 });
        await (await toReplica?.ready())?.replicaof('NO', 'ONE');
        await expect(codes(toReplica)).resolves.not.toContain('REPLICA');
      } finally {
        toMaster?.close();
        toReplica?.close();
        await replica.stop();
        await master.stop();
      }
    });
  });

  it('finds REDIS_VERSION on a server that is too old', async () => {
    const line = createServer((socket) => {
      const server = connect(rig.port, '127.0.0.1');
      socket.pipe(server);
      server.on('data', (bytes) => {
        const older = bytes.toString('latin1').replace(/redis_version:\d/, 'redis_version:5');
        socket.write(Buffer.from(older, 'latin1'));
      });
      for (const [one, other] of [[socket, server] as const, [server, socket] as const])
        one.on('error', () => undefined).on('close', () => other.destroy());
    });
    await once(line.listen(0, '127.0.0.1'), 'listening');
    const { port } = line.address() as AddressInfo;
    const old = new RedisConnection(`redis://127.0.0.1:${port}`, 'commands');
    try {
      const { findings } = await diagnose(old, { ...patient, functions: ['x'] });
      expect(findings).toEqual([expect.objectContaining({ code: 'REDIS_VERSION', severity: 'error' })]);
    } finally {
      old.close();
      line.close();
    }
  });

  it('finds SLOW_SCRIPTS, which the remedy ends', async () => {
    const fn = rig.fn();
    await rig.redis.config('SET', 'slowlog-log-slower-than', '0');
    await rig.client.run(fn, 1, { delay: '1h' });
    await rig.redis.config('SET', 'slowlog-log-slower-than', '-1');
    const slow = async () => (await examine({ functions: [fn], slowScript: 0 })).findings;
    await expect(slow()).resolves.toEqual([
      expect.objectContaining({ code: 'SLOW_SCRIPTS', title: expect.stringContaining('enqueue') }),
    ]);
    await rig.redis.slowlog('RESET');
    await expect(slow()).resolves.toEqual([]);
  });

  it('finds STUCK_LEASES, and puts their jobs back', async () => {
    const fn = rig.fn();
    await rig.client.run(fn, 1);
    await claimLongAgo(fn);
    const findings = await findingsOf(fn);
    expect(findings).toEqual([expect.objectContaining({ code: 'STUCK_LEASES', severity: 'error', fn })]);
    await fix(findings);
    await expect(codesOf(fn)).resolves.toEqual(['NO_WORKER']);
    await runWorker(rig.source(), fn, () => 'done');
    await expect(rig.client.result(fn, '1')).resolves.toBe('done');
    await expect(codesOf(fn)).resolves.toEqual([]);
  });

  it('finds WORKER_COUNT for dead workers, a lost count and text, and corrects it', async () => {
    const fn = rig.fn();
    const k = keysOf(fn);
    await scripts.presence.run(rig.redis, [k.count, k.workers], longAgo(), 'dead', 10_000, 0);
    const corrects = async (title: string) => {
      const findings = await findingsOf(fn);
      expect(findings).toEqual([expect.objectContaining({ code: 'WORKER_COUNT', fn })]);
      expect(findings[0]?.title).toContain(title);
      await fix(findings);
      await expect(codesOf(fn)).resolves.toEqual([]);
    };
    await corrects('counts 1 workers that have died');
    await expect(rig.redis.get(k.count)).resolves.toBe('0');
    await rig.redis.set(k.count, 'many');
    await corrects('is not a whole number');
    // A day from now: no other worker may correct the count first, as a living one would.
    const day = 86_400_000;
    await scripts.presence.run(rig.redis, [k.count, k.workers], '', 'alive', day, 0);
    await rig.redis.del(k.count);
    await corrects('says nothing, but 1 workers');
    await expect(rig.redis.get(k.count)).resolves.toBe('1');
  });

  it('finds SCHEDULES_UNSERVED, which a worker ends', async () => {
    const fn = rig.fn();
    await rig.client.recur(fn, { id: 'yearly', cron: '@yearly' });
    await expect(codesOf(fn)).resolves.toEqual(['SCHEDULES_UNSERVED']);
    await runWorker(rig.source(), fn, () => 'done');
    await expect(codesOf(fn)).resolves.toEqual([]);
    await stopWorkers();
    await rig.client.schedules.remove('yearly');
    await expect(codesOf(fn)).resolves.not.toContain('SCHEDULES_UNSERVED');
  });

  it('finds WRONG_TYPE, which the remedy ends', async () => {
    const fn = rig.fn();
    await rig.redis.set(`lease:${fn}`, 'text');
    await expect(codesOf(fn)).resolves.toEqual(['WRONG_TYPE']);
    await rig.redis.del(`lease:${fn}`);
    await expect(codesOf(fn)).resolves.toEqual([]);
  });

  it('finds QUEUED_WITHOUT_JOB, and removes these entries', async () => {
    const fn = rig.fn();
    await rig.client.pause(fn);
    await rig.client.runMany(fn, [1, 2, 3]);
    await rig.client.run(fn, 4, { delay: '1h' });
    await rig.redis.del(`job:${fn}:2`, `job:${fn}:4`);
    const findings = await findingsOf(fn);
    expect(findings).toEqual([expect.objectContaining({ code: 'QUEUED_WITHOUT_JOB' })]);
    await fix(findings);
    await expect(rig.redis.lrange(`queue:${fn}:normal`, '0', '-1')).resolves.toEqual(['3', '1']);
    await expect(rig.redis.zcard(`queue:${fn}:scheduled`)).resolves.toBe(0);
    await expect(codesOf(fn)).resolves.toEqual([]);
  });

  it('finds BUSY_WITHOUT_LEASE, and gives leases from which workers recover', async () => {
    const fn = rig.fn();
    await rig.client.run(fn, 1);
    await rig.redis.hset(`job:${fn}:1`, 'created', String(longAgo()));
    await claimLongAgo(fn);
    await rig.redis.del(`lease:${fn}`);
    const findings = await findingsOf(fn);
    expect(findings).toEqual([expect.objectContaining({ code: 'BUSY_WITHOUT_LEASE' })]);
    await fix(findings);
    await expect(codesOf(fn)).resolves.toEqual([]);
    await runWorker(rig.source(), fn, () => 'done');
    await expect(rig.client.result(fn, '1')).resolves.toBe('done');
  });

  it('finds WAITING_IN_NO_QUEUE, which the remedy ends', async () => {
    const fn = rig.fn();
    await rig.client.pause(fn);
    await rig.client.runMany(fn, [1, 2]);
    for (const id of ['1', '2']) await rig.redis.hset(`job:${fn}:${id}`, 'created', String(longAgo()));
    await expect(codesOf(fn)).resolves.toEqual([]);
    await rig.redis.rpop(`queue:${fn}:normal`);
    await expect(codesOf(fn)).resolves.toEqual(['WAITING_IN_NO_QUEUE']);
    await rig.redis.lpush(`queue:${fn}:normal`, '1');
    await expect(codesOf(fn)).resolves.toEqual([]);
  });

  it('finds RIGHTS that the user lacks, which granting them ends', async () => {
    const fn = rig.fn();
    const acl = (...rules: string[]) => rig.redis.call('ACL', 'SETUSER', 'some', ...rules);
    await acl('on', '>secret', '~*', '&*', '+@all', '-publish');
    const url = rig.url.replace('//', '//some:secret@');
    const some = new RedisConnection(url, 'commands');
    const found = async () => (await diagnose(some, { ...patient, functions: [fn] })).findings;
    try {
      await expect(found()).resolves.toEqual([
        expect.objectContaining({ code: 'RIGHTS', title: expect.stringContaining(`PUBLISH channel:${fn}`) }),
      ]);
      await acl('+publish');
      await expect(found()).resolves.toEqual([]);
    } finally {
      some.close();
    }
  });

  it('has a row for each finding on its page', () => {
    const folder = new URL('../../lib/doctor/', import.meta.url);
    const text = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'));
    const codes = [...text.join('').matchAll(/code: '([A-Z_]+)'/g)].map(([, code]) => code);
    const page = readFileSync(new URL('../../docs/operate/doctor.md', import.meta.url), 'utf8');
    expect(codes.length).toBeGreaterThan(15);
    expect(codes.filter((code) => !page.includes(`| \`${code}\` `))).toEqual([]);
  });

  inFullTier(() => {
    describe('as a program', () => {
      const doctor = (args: readonly string[], environment: NodeJS.ProcessEnv = {}) =>
        runGearMonkey(['doctor', ...args, '--slow-script', '1h'], {
          environment: { REDIS_URL: rig.url, ...environment },
        });

      it('says what a user without rights to INFO and CONFIG could not see, and prints nothing else', async () => {
        const rules = ['on', '>secret', '~*', '&*', '+@all', '-info', '-config', '-slowlog', '-scan'];
        await rig.redis.call('ACL', 'SETUSER', 'limited', ...rules);
        const fn = rig.fn();
        const REDIS_URL = rig.url.replace('//', '//limited:secret@');
        const ended = await doctor([fn], { REDIS_URL });
        expect(ended).toMatchObject({ code: 0, stderr: '' });
        const lines = ended.stdout.trimEnd().split('\n');
        expect(lines.map((line) => line.slice(0, 16))).toEqual([
          expect.stringMatching(/^not seen INFO:/),
          expect.stringMatching(/^not seen CONFIG/),
          expect.stringMatching(/^not seen SLOWLOG/),
          expect.stringMatching(/^examined: 1 func/),
        ]);
      });

      it('exits with 2 for findings, and repairs them on request', async () => {
        const fn = rig.fn();
        await rig.client.pause(fn);
        await rig.client.run(fn, 1);
        await rig.redis.del(`job:${fn}:1`);
        const found = await doctor([fn]);
        expect(found.code).toBe(2);
        expect(found.stdout).toContain('warning  QUEUED_WITHOUT_JOB: 1 sampled entries');
        expect(found.stdout).toContain('--fix: removes these entries');
        const fixed = await doctor([fn, '--fix', '--json']);
        expect(fixed.code).toBe(0);
        expect(valuesOf(fixed)).toEqual([
          {
            findings: [],
            fixed: [expect.objectContaining({ code: 'QUEUED_WITHOUT_JOB', fn })],
            skipped: [],
            functions: [fn],
          },
        ]);
      });

      it('finds that the clock of its machine is wrong', async () => {
        const shift = 'data:text/javascript,const%20now=Date.now;Date.now=()=>now()+3600000';
        const wrong = await doctor(['x', '--json'], { NODE_OPTIONS: `--import=${shift}` });
        expect(wrong.code).toBe(2);
        const found = {
          code: 'CLOCK',
          title: expect.stringMatching(/^The clock of this machine is 3[56]\d\d s ahead/),
        };
        expect(valuesOf(wrong)).toEqual([
          expect.objectContaining({ findings: [expect.objectContaining(found)] }),
        ]);
      });
    });
  });
});
