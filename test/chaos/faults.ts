import type { Redis } from 'ioredis';
import type { Enqueued } from './history.js';
import { writeNonsense } from './hostile-client.js';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisServer } from '../support/redis-server.js';
import type { Member } from './processes.js';
import type { SlowLine } from '../support/slow-line.js';
import { PROCESS_FAULTS, type Fault, type FaultKind } from './schedule.js';

/** What faults may lay hands on. */
export interface Ground {
  readonly server: RedisServer;
  /** A connection of the suite's own, past the proxies. */
  readonly redis: Redis;
  readonly workers: readonly Member[];
  readonly producers: readonly Member[];
  /** Where jobs go that a fault enqueues. */
  readonly plain: { readonly enqueued: Enqueued[] };
}

/** A fault as it happened. `process` is the one it hit, if it was one. Times in ms since 1970. */
export interface Injected {
  readonly kind: FaultKind;
  readonly began: number;
  readonly ended: number;
  readonly process?: string;
}

type Inject = (ground: Ground, fault: Fault) => Promise<string | void>;

const LATENCY_MS = [5, 20, 60, 120] as const;

const INJECT: Readonly<Record<FaultKind, Inject>> = {
  'kill-worker': ({ workers }, fault) => endAndStart(memberOf(workers, fault), 'SIGKILL', fault.lasts),
  'restart-worker': ({ workers }, fault) => endAndStart(memberOf(workers, fault), 'SIGTERM', fault.lasts),
  'kill-producer': ({ producers }, fault) => endAndStart(memberOf(producers, fault), 'SIGKILL', fault.lasts),
  'restart-starting-worker': async ({ workers }, fault) => {
    const member = memberOf(workers, fault);
    await member.end('SIGTERM');
    member.start();
    return endAndStart(member, 'SIGTERM', 0, fault.lasts);
  },
  'kill-closing-worker': async ({ workers }, fault) => {
    const member = memberOf(workers, fault);
    await member.end('SIGTERM', fault.lasts / 4);
    member.start();
  },
  'failing-start': async ({ workers }, fault) => {
    const member = memberOf(workers, fault);
    await member.end('SIGTERM');
    member.start({ failing: true });
    await member.endsByItself();
  },
  'stop-worker': ({ workers }, fault) => holdStill(memberOf(workers, fault), fault.lasts),
  'kill-redis': async ({ server }, { lasts }) => {
    await server.kill('SIGKILL');
    await sleep(lasts);
    await server.restart();
  },
  'client-kill': async ({ redis }) => void (await killClients(redis)),
  'client-pause': async ({ redis }, { lasts, target }) => {
    await redis.call('CLIENT', 'PAUSE', lasts, target % 2 === 0 ? 'ALL' : 'WRITE');
    await sleep(lasts);
  },
  'script-flush': async ({ redis }) => void (await redis.script('FLUSH')),
  latency: (ground, fault) =>
    onTheWay(
      ground,
      fault,
      (proxy) => proxy.throttle({ latency: LATENCY_MS[fault.target % LATENCY_MS.length] as number }),
      (proxy) => proxy.throttle(),
    ),
  'hostile-client': async ({ redis, plain }, { target, lasts }) =>
    void plain.enqueued.push(await writeNonsense(redis, target, lasts)),
  cut: (ground, fault) => onTheWay(ground, fault, (proxy) => proxy.cut()),
  'partition-held': (ground, fault) =>
    onTheWay(
      ground,
      fault,
      (proxy) => proxy.separate('held'),
      (proxy) => proxy.heal(),
    ),
  'partition-swallowed': (ground, fault) =>
    onTheWay(
      ground,
      fault,
      (proxy) => proxy.separate('swallowed'),
      (proxy) => proxy.heal(),
    ),
  'half-open': (ground, fault) =>
    onTheWay(
      ground,
      fault,
      (proxy) => proxy.freezeOpenOnes(),
      (proxy) => proxy.heal(),
    ),
};

/** Lets each fault happen at its time, or when the one before it on its track is over; resolves after the last. */
export async function injectAll(
  ground: Ground,
  faults: readonly Fault[],
  onInjected: (injected: Injected) => void,
): Promise<void> {
  const start = performance.now();
  const isProcess = ({ kind }: Fault) => PROCESS_FAULTS.some((name) => name === kind);
  const follow = async (track: readonly Fault[]) => {
    for (const fault of track) {
      await sleep(Math.max(0, fault.at - (performance.now() - start)));
      const began = Date.now();
      const process = await INJECT[fault.kind](ground, fault);
      onInjected({ kind: fault.kind, began, ended: Date.now(), ...(process ? { process } : {}) });
    }
  };
  await Promise.all([follow(faults.filter(isProcess)), follow(faults.filter((fault) => !isProcess(fault)))]);
}

function memberOf(members: readonly Member[], { target }: Fault): Member {
  return members[target % members.length] as Member;
}

async function endAndStart(
  member: Member,
  signal: NodeJS.Signals,
  lasts: number,
  before = 0,
): Promise<string> {
  const process = member.current;
  await sleep(before);
  await member.end(signal);
  await sleep(lasts);
  member.start();
  return process;
}

async function holdStill(member: Member, lasts: number): Promise<string> {
  const process = member.current;
  member.signal('SIGSTOP');
  await sleep(lasts);
  member.signal('SIGCONT');
  return process;
}

/** All of our connections; the plain actors' have no name. */
async function killClients(redis: Redis): Promise<void> {
  const list = (await redis.call('CLIENT', 'LIST')) as string;
  const ids = [...list.matchAll(/^id=(\d+) .* name=nestjs-gearmonkey:/gm)].map(([, id]) => id as string);
  await Promise.all(ids.map((id) => redis.call('CLIENT', 'KILL', 'ID', id).catch(() => undefined)));
}

/** Affects all processes if the target is 0, otherwise one. */
async function onTheWay(
  { workers, producers }: Ground,
  { target, lasts }: Fault,
  begin: (proxy: SlowLine) => void,
  end: (proxy: SlowLine) => void = () => undefined,
): Promise<void> {
  const members = [...workers, ...producers];
  const hit = target % 3 === 0 ? members : [members[target % members.length] as Member];
  for (const { proxy } of hit) begin(proxy);
  await sleep(lasts);
  for (const { proxy } of hit) end(proxy);
}
