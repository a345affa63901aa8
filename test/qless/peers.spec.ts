import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { GearMonkeyModule, Input, Worker } from 'nestjs-gearmonkey';
import { qless, QlessClient, QlessModule } from 'nestjs-gearmonkey/qless';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { COMMANDS, unifiedScript } from '../../lib/qless/wire/assemble.js';
import * as scripts from '../../lib/qless/wire/scripts.js';
import { killProcesses, runProgram, TestProcess } from '../support/test-process.js';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

/** Debian's Python: the one that has the redis module. */
const PYTHON = '/usr/bin/python3';
const SCRIPT = fileURLToPath(new URL('../../dist/qless/qless.lua', import.meta.url));
const QUEUES = ['mail', 'bulk'];
const JOBS = 240;
const KINDS = ['python', 'nest', 'scripts'] as const;
const JIDS = Array.from({ length: JOBS }, (_, n) => `jid-${n}`);
const TRACKED = JIDS.slice(0, 8);
const isFlaky = (jid: string) => Number(jid.slice('jid-'.length)) % 4 === 0;

const server = useRedis();
const apps = useApps();
beforeEach(() => server.redis.flushall());

const program = (name: string) => fileURLToPath(new URL(`./peers/${name}.py`, import.meta.url));

interface Data {
  readonly jid: string;
  readonly flaky: boolean;
}

/** Today's statistics are another day's after midnight. */
const days = (started: Date) =>
  [started, new Date()].filter((day, index) => index === 0 || day.getUTCDate() !== started.getUTCDate());

/** Workers wait until each kind of worker has a job, so that all of them take part. */
async function meet(redis: Redis, kind: (typeof KINDS)[number]) {
  await redis.sadd('kinds', kind);
  await eventually(async () => expect(await redis.scard('kinds')).toBe(KINDS.length));
}

/** True for the first attempt of the job. */
const isFirst = async (redis: Redis, jid: string) => (await redis.sadd('tried', jid)) === 1;

@Injectable()
class Jobs {
  @Worker('Job', { concurrency: 3, retry: { attempts: 3, delay: 1, backoff: 'fixed' } })
  async run(@Input() { jid, flaky }: Data) {
    await meet(server.redis, 'nest');
    if (flaky && (await isFirst(server.redis, jid))) throw new Error('not at first');
    await server.redis.rpush('done:nest', jid);
  }
}

describe('the built script', () => {
  it('is made from these sources', () => {
    expect(readFileSync(SCRIPT, 'utf8')).toBe(unifiedScript());
  });

  it('serves a client with only the command-first form', async () => {
    const { stdout } = await runProgram(PYTHON, [program('every_command'), server.url, SCRIPT]);
    expect(JSON.parse(stdout)).toEqual(expect.arrayContaining([...COMMANDS]));
  });
});

describe('workers in Python, in a Nest app and on the scripts, on the same queues,', () => {
  afterEach(killProcesses);

  const startPython = async (name: string) => {
    const args = [program('worker'), server.url, SCRIPT, name, ...QUEUES];
    const worker = new TestProcess(PYTHON, args);
    await worker.shows(() => worker.stdout, 'that it is ready');
  };

  const startNest = () =>
    apps.start({
      imports: [
        GearMonkeyModule.forRoot({ source: qless({ connection: server.url, queues: QUEUES }) }),
        QlessModule.forRoot({ connection: server.url }),
      ],
      providers: [Jobs],
    });

  /** One that uses the typed scripts as they are, until it is stopped. */
  const startScripts = () => {
    let stopped = false;
    const { redis } = server;
    const keys = ['ql:'];
    const work = async (queue: string) => {
      const jobs = await scripts.pop.run(redis, keys, '', queue, 'scripts', 3);
      for (const { jid, data } of jobs) {
        await meet(redis, 'scripts');
        if ((JSON.parse(data) as Data).flaky && (await isFirst(redis, jid))) {
          await scripts.retry.run(redis, keys, '', jid, queue, 'scripts', 0, []);
        } else {
          const replies = await scripts.completeMany.run(redis, keys, '', 'scripts', queue, [jid, data]);
          if (replies[0] === 'complete') await redis.rpush('done:scripts', jid);
        }
      }
    };
    const run = async () => {
      while (!stopped) for (const queue of QUEUES) await work(queue);
    };
    const running = run();
    return async () => {
      stopped = true;
      await running;
    };
  };

  /** A queue's jobs from each side; one of four fails at first. No worker claims any before all are there. */
  const putAll = async (client: QlessClient) => {
    const [mail = '', bulk = ''] = QUEUES;
    await Promise.all(QUEUES.map((queue) => client.queue(queue).pause()));
    const [ours, theirs] = [0, 1].map((side) => JIDS.filter((_, n) => n % 2 === side));
    for (const jid of ours ?? []) {
      await client.queue(mail).put('Job', { jid, flaky: isFlaky(jid) }, { jid });
    }
    await runProgram(PYTHON, [program('producer'), server.url, SCRIPT, bulk, ...(theirs ?? [])]);
    for (const jid of TRACKED) await (await client.jobs.get(jid))?.track();
    await Promise.all(QUEUES.map((queue) => client.queue(queue).unpause()));
  };

  it('complete each job once; tracked events arrive and the statistics add up', async () => {
    const started = new Date();
    const context = await startNest();
    const client = context.get(QlessClient);
    const subscriber = server.redis.duplicate();
    const events: string[] = [];
    subscriber.on('message', (channel: string, jid: string) => events.push(`${channel} ${jid}`));
    await subscriber.subscribe('ql:popped', 'ql:completed');
    await Promise.all(['one', 'two'].map(startPython));
    const stop = startScripts();
    try {
      await putAll(client);
      await eventually(async () => expect(await server.redis.zcard('ql:completed')).toBe(JOBS), {
        timeout: 25_000,
      });
    } finally {
      await stop();
    }

    await expectOnce();
    const flaky = JIDS.filter(isFlaky).length;
    const stats = await Promise.all(
      QUEUES.flatMap((queue) => days(started).map((day) => client.queue(queue).stats(day))),
    );
    const sum = (figure: (of: (typeof stats)[number]) => number) =>
      stats.reduce((total, of) => total + figure(of), 0);
    expect(sum(({ run }) => run.count)).toBe(JOBS);
    expect(sum(({ wait }) => wait.count)).toBe(JOBS + flaky);
    expect(sum(({ retries, failed, failures }) => retries + failed + failures)).toBe(0);
    for (const queue of QUEUES) await expect(client.queue(queue).length()).resolves.toBe(0);
    const expected = TRACKED.flatMap((jid) => [
      ...(isFlaky(jid) ? [`ql:popped ${jid}`] : []),
      ...[`ql:completed ${jid}`, `ql:popped ${jid}`],
    ]).sort();
    await eventually(() => expect(events.length).toBeGreaterThanOrEqual(expected.length));
    expect(events.toSorted()).toEqual(expected);
    subscriber.disconnect();
    await expect(client.checkConsistency()).resolves.toMatchObject({ problems: [] });
  });

  /** All kinds did some, and none what another did. A job is complete before its worker has noted it. */
  const expectOnce = async () => {
    const lists = () => Promise.all(KINDS.map((kind) => server.redis.lrange(`done:${kind}`, 0, -1)));
    await eventually(async () => expect((await lists()).flat().length).toBeGreaterThanOrEqual(JOBS));
    const done = await lists();
    for (const jids of done) expect(jids.length).toBeGreaterThan(0);
    expect(done.flat().toSorted()).toEqual(JIDS.toSorted());
  };
});
