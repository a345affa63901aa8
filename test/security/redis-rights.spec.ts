import * as edits from '../../lib/gearmonkey/features/edits/edit-scripts.js';
import { unique } from '../../lib/gearmonkey/features/unique/create-unique.js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { lastValueFrom } from 'rxjs';
import * as scripts from '../../lib/gearmonkey/core/wire/scripts.js';
import {
  due,
  enterSchedule,
  schedules,
  tick,
  writeSchedule,
} from '../../lib/gearmonkey/features/schedules/schedule-scripts.js';
import * as views from '../../lib/gearmonkey/features/views/view-scripts.js';
import { turn as jqTurn } from '../../lib/jq/engine/turn.js';
import { listenMaster } from '../../lib/jq/master/listen-master.js';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { Http, type Reply } from '../jq/master/http.js';
import type { Traced } from '../support/command-trace.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { AttributedTrace } from './attributed-trace.js';
import {
  askEverything,
  bringEverything,
  enqueueInVain,
  enqueueTagged,
  FN,
  handle,
  operate,
  schedule,
  view,
} from './gearmonkey-scenario.js';
import { SOON, useEverything } from './jq-scenario.js';
import { documentedRights, grant, PASSWORD, superfluous, takeRefusals } from './rights.js';

const LEASE_MS = 20_000;
/** Stands inside a function of a limit. */
const LOOK_AGAIN = /^local function look_again_at\b[^]*?^end$/gm;
/** Functions of scripts that only jobs with a limit, with tags or of flows need. */
const OF_LIMITS =
  /^local function (?:open_limits|add_shares|add_turns|move_limited|limit_refusal|lists_of_keys|open_tags|note_end|return_to_flow)\b[^]*?^end$/gm;
const documented = documentedRights();
const rightsOf = (name: string) => documented.get(name) ?? [];

describe('the rights of docs/operate/security.md', () => {
  const used = useRedisServer();
  const urlOf = (user: string) => `redis://${user}:${PASSWORD}@127.0.0.1:${used.port}`;
  let trace: AttributedTrace;

  beforeAll(async () => {
    trace = await AttributedTrace.start(used.redis);
    for (const [user, rights] of documented) await grant(used.redis, user, rights);
    await used.redis.acl('SETUSER', 'default', 'off');
  });
  afterAll(() => trace.stop());

  it.each([
    ['client', [scripts.enqueue, unique, edits.cancel, edits.update, scripts.expire, scripts.presence]],
    ['operator', [edits.pause, edits.drain, views.mend]],
    ['viewer', [views.overview, views.listJobs, views.findJobs]],
    ['scheduler', [schedules, writeSchedule, enterSchedule]],
    [
      'worker',
      [scripts.claim, scripts.progress, scripts.renew, scripts.look, scripts.presence, due, tick, views.trim],
    ],
    ['jq', [jqTurn]],
  ])('of a %s name every command of its scripts', (user, own) => {
    const commands = own.flatMap(({ text }) => [
      ...text
        .replaceAll(LOOK_AGAIN, '')
        .replaceAll(OF_LIMITS, '')
        .matchAll(/call\([^,]*?'([A-Z]{3,})'/g),
    ]);
    expect(rightsOf(user)).toEqual(
      expect.arrayContaining(commands.map(([, command = '']) => `+${command.toLowerCase()}`)),
    );
  });

  describe('of client and worker', () => {
    const problems: string[] = [];
    let refused: string[];
    let calls: Map<string, Traced[]>;
    let clients: RedisActors;
    let workers: RedisActors;
    let operators: RedisActors;
    let viewers: RedisActors;
    let schedulers: RedisActors;
    let tagged: RedisActors;

    beforeAll(async () => {
      clients = new RedisActors(urlOf('client'));
      workers = new RedisActors(urlOf('worker'));
      operators = new RedisActors(urlOf('operator'));
      viewers = new RedisActors(urlOf('viewer'));
      schedulers = new RedisActors(urlOf('scheduler'));
      tagged = new RedisActors(urlOf('tagged-client'));
      const client = clients.client();
      const onProblem = (message: string) => {
        // A busy machine may well hold up its thread.
        if (!message.startsWith("The lease keeper's thread")) problems.push(message);
      };
      const source = workers.source({ lease: LEASE_MS, onProblem }, { keeper: true });
      const { said } = await runWorker(source, FN, handle);
      await askEverything(client, used.redis);
      await operate(operators.client(), used.redis);
      await schedule(schedulers.client());
      await enqueueTagged(tagged.client(), used.redis);
      await view(viewers.client());
      await bringEverything(used.redis);
      const again = new Redis(urlOf('client'));
      await enqueueInVain(again, used.redis);
      await trace.look();
      await loseBlocking(used.redis);
      await client.call(FN, 'ok');
      const held = await client.run(FN, 'hold');
      await eventually(async () => expect((await held.get()).state).toBe('running'));
      const ended = lastValueFrom(client.watch(FN, held.id)).catch(() => undefined);
      for (const user of ['client', 'worker']) await until(() => pings(used.redis, user));
      await trace.look();
      await stopWorkers();
      await held.cancel();
      await ended;
      await runWorker(workers.source({ onProblem }), FN, handle);
      await until(() => waitingForWork(used.redis));
      await trace.look();
      await stopWorkers();
      // The job that is held is given back.
      const expected = [`${FN} `, 'Gave back jobs that still ran: '];
      problems.push(...said.filter((line) => !expected.some((start) => line.startsWith(start))));
      again.disconnect();
      calls = await trace.calls();
      refused = await takeRefusals(used.redis);
    });
    afterAll(() => {
      clients.close();
      workers.close();
      operators.close();
      viewers.close();
      schedulers.close();
      tagged.close();
    });

    it('are sufficient for everything that they do', async () => {
      expect(refused).toEqual([]);
      expect(problems).toEqual([]);
    });

    it('apply to this function only', async () => {
      const client = clients.client();
      for (const refused of [
        client.run('other', 'ok'),
        client.get('other', 1),
        client.rollCall('other'),
        client.cancel('other', 1),
      ])
        await expect(refused).rejects.toThrow('The Redis user has no right to what');
      await expect(runWorker(workers.source(), 'other', handle)).rejects.toThrow(
        'The Redis user has no right to what',
      );
      expect(await used.redis.keys('*other*')).toEqual([]);
      await takeRefusals(used.redis);
    });

    it.each(['client', 'worker'])('contain only rights that a %s needs', async (user) => {
      expect(await superfluous(used.redis, rightsOf(user), calls.get(user) ?? [])).toEqual([]);
    });

    it('contain only rights that an operator needs, who is also a client', async () => {
      const all = [...(calls.get('client') ?? []), ...(calls.get('operator') ?? [])];
      expect(await superfluous(used.redis, rightsOf('operator'), all)).toEqual([]);
    });

    it('contain only rights that listing jobs needs, beside those of a client', async () => {
      const all = [...(calls.get('client') ?? []), ...(calls.get('viewer') ?? [])];
      expect(await superfluous(used.redis, rightsOf('viewer'), all)).toEqual([]);
    });

    it('contain only rights that tags need, beside those of a client', async () => {
      const all = [...(calls.get('client') ?? []), ...(calls.get('tagged-client') ?? [])];
      expect(await superfluous(used.redis, rightsOf('tagged-client'), all)).toEqual([]);
    });

    it('of a client do not include those of tags', async () => {
      const run = clients.client().run(FN, 'ok', { tags: ['a'] });
      await expect(run).rejects.toThrow(/no right to what a client of "mail" with tags needs: .*tags:mail/);
      await (await clients.client().run(FN, 'ok')).cancel();
      await takeRefusals(used.redis);
    });

    it('contain only rights that making schedules needs, beside those of a client', async () => {
      const all = [...(calls.get('client') ?? []), ...(calls.get('scheduler') ?? [])];
      expect(await superfluous(used.redis, rightsOf('scheduler'), all)).toEqual([]);
    });

    it('of a client do not include those of making schedules', async () => {
      const client = clients.client();
      const message = /no right to what a client of schedules( of "mail")? needs: .*schedules/;
      for (const refused of [
        client.recur(FN, { id: 'x', every: '1h' }),
        client.schedules.list(FN),
        client.schedules.list(),
        client.schedules.get('x'),
      ])
        await expect(refused).rejects.toThrow(message);
      await takeRefusals(used.redis);
    });

    it('of a client do not include those of listing jobs', async () => {
      const client = clients.client();
      await expect(client.list(FN, { state: 'waiting' })).rejects.toThrow(
        /no right to what a viewer of "mail" needs: .*control:mail/,
      );
      await expect(client.overview()).rejects.toThrow('ZREVRANGEBYSCORE functions');
      await takeRefusals(used.redis);
    });

    it("of a client don't include those of an operator", async () => {
      const client = clients.client();
      for (const refused of [client.pause(FN), client.resume(FN), client.isPaused(FN), client.drain(FN)])
        await expect(refused).rejects.toThrow(/no right to what an operator of "mail" needs: .*control:mail/);
      await expect(lastValueFrom(client.watchPaused(FN))).rejects.toThrow('SUBSCRIBE control:mail');
      await takeRefusals(used.redis);
    });
  });

  describe('of a JQ master', () => {
    let calls: readonly Traced[];
    let refused: string[];

    beforeAll(async () => {
      const master = await listenMaster({ ...SOON, connection: urlOf('jq'), port: 0 });
      try {
        const check = (method: string, path: string, reply: Reply) => {
          if (reply.status >= 400)
            throw new Error(`${method} ${path}: ${reply.status} ${reply.bytes.toString()}`);
        };
        await useEverything(new Http(master.url, check), used.redis);
        await until(() => pings(used.redis, 'jq'));
        await trace.look();
      } finally {
        await master.close();
      }
      calls = (await trace.calls()).get('jq') ?? [];
      refused = await takeRefusals(used.redis);
    });

    it('are sufficient for everything that it does', async () => {
      expect(refused).toEqual([]);
    });

    it('contain only rights that it needs', async () => {
      expect(await superfluous(used.redis, rightsOf('jq'), calls)).toEqual([]);
    });
  });
});

/** Ends a connection that waits for work, until the worker waits on another. */
async function loseBlocking(redis: Redis): Promise<void> {
  const waiting = () => waitingForWork(redis);
  const idOf = (line: string) => /^id=(\d+)/.exec(line)?.[1] ?? '';
  const id = idOf(await until(waiting));
  await redis.client('KILL', 'ID', id);
  await eventually(async () => expect([undefined, id]).not.toContain(idOf((await waiting()) ?? `id=${id}`)));
}

async function waitingForWork(redis: Redis): Promise<string | undefined> {
  const list = String(await redis.client('LIST'));
  return list.split('\n').find((line) => line.includes(':blocking ') && line.includes('cmd=blpop'));
}

/** Whether a connection that only listens has asked whether its server is alive: it does so a second later. */
async function pings(redis: Redis, user: string): Promise<boolean> {
  const list = String(await redis.client('LIST'));
  return list.split('\n').some((line) => line.includes(` user=${user} `) && line.includes(' cmd=ping '));
}
