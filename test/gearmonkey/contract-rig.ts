import { Redis } from 'ioredis';
import { GearMonkeyClient, type ClientOptions } from '../../lib/gearmonkey/client.js';
import { RedisStore } from '../../lib/gearmonkey/redis-store.js';
import { RedisSource } from '../../lib/gearmonkey/redis-source.js';
import { taggedKeysOf } from '../../lib/gearmonkey/core/wire/hash-tags.js';
import { ChannelHub } from '../../lib/redis/channel-hub.js';
import { connect } from '../../lib/redis/connect.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { MAX_STALLS, stateOf, type ClientRig } from '../contract/rig.js';
import { RedisServer } from '../support/redis-server.js';
import { SlotTrace } from '../support/slot-trace.js';
import { TimeLeaps } from '../support/time-leaps.js';
import { AHEAD, withLeaps } from './leaping-scripts.js';
import { submit, subscriptions } from './redis-rig.js';

/** With the default, Redis ends blocking calls up to a tenth of a second late: a test of retries would mostly wait for it. */
const PUNCTUAL = ['--hz', '500'];
/** More than all tests that use one source let pass. */
const LEASE_MS = 3_600_000;
/** On one server. On a cluster each is made for every slot, as test/scaling shows. */
const OF_SEVERAL_FUNCTIONS = ['blpop', 'look', 'presence', 'trim'];
const TIMEOUT_MS = 15_000;

/** The connections of an instance. Those of a test that has ended serve the next one: to connect takes longer than most tests. */
class Instances {
  private readonly opened: { readonly commands: RedisConnection; readonly hub: ChannelHub }[] = [];
  private used = 0;

  constructor(private readonly port: number) {}

  connect(role: string): RedisConnection {
    return new RedisConnection(() => withLeaps(connect({ host: '127.0.0.1', port: this.port }, role)), role);
  }

  /** One that this test has not used yet. */
  next() {
    const at = this.used++;
    const instance = this.opened[at];
    if (instance && !instance.commands.isClosed) return instance;
    return (this.opened[at] = {
      commands: this.connect('commands'),
      hub: new ChannelHub(this.connect('subscriber')),
    });
  }

  /** @param kept how many stay in use */
  endTest(kept: number): void {
    this.used = kept;
  }

  close(): void {
    for (const { commands, hub } of this.opened) {
      hub.close();
      commands.close();
    }
  }
}

/** Sources and clients of ours. */
class Actors {
  /** Transitions that sources made though no state allows them. */
  readonly illegal: string[] = [];
  private readonly ofSources: Instances;
  private readonly ofClients: Instances;
  private sources: RedisSource[] = [];
  private clients: GearMonkeyClient[] = [];

  constructor(port: number) {
    this.ofSources = new Instances(port);
    this.ofClients = new Instances(port);
  }

  source(lease = LEASE_MS): RedisSource {
    const blocking = this.ofSources.connect('blocking');
    const source = new RedisSource(
      { ...this.ofSources.next(), blocking, keeper: undefined },
      {
        lease,
        maxStalls: MAX_STALLS,
        keysOf: taggedKeysOf,
        onIllegal: (message) => this.illegal.push(message),
      },
    );
    this.sources.push(source);
    return source;
  }

  store(): RedisStore {
    const { commands, hub } = this.ofClients.next();
    return new RedisStore(commands, hub, { timeout: TIMEOUT_MS, keysOf: taggedKeysOf });
  }

  client(options?: ClientOptions): GearMonkeyClient {
    const client = new GearMonkeyClient(this.store(), options);
    this.clients.push(client);
    return client;
  }

  /** The first client may be that of a `describe`, which goes on. */
  async endTest(): Promise<void> {
    const [first, ...others] = this.clients;
    for (const client of others) client.endObservers();
    this.clients = first ? [first] : [];
    this.ofClients.endTest(1);
    await Promise.all(this.sources.map(end));
    this.sources = [];
    this.ofSources.endTest(0);
  }

  async close(): Promise<void> {
    await this.endTest();
    this.ofClients.close();
    this.ofSources.close();
    if (this.illegal.length > 0) throw new Error(`Illegal transitions: ${this.illegal.join('; ')}`);
  }
}

async function end(source: RedisSource): Promise<void> {
  // `close` does not end what a source began that was never opened, since no worker does that.
  if (source['opened'].size === 0) await source['claimer'].close();
  await source.close();
}

/** A private server of a `describe`, whose time a test can let pass. All write hash tags, as on a cluster, where each call has one slot. */
export async function contractRig(): Promise<ClientRig> {
  const server = await RedisServer.start(PUNCTUAL);
  const redis = new Redis(server.port, '127.0.0.1');
  const actors = new Actors(server.port);
  const slots = await SlotTrace.start(redis, { key: AHEAD, calls: OF_SEVERAL_FUNCTIONS });
  const leaps = new TimeLeaps();
  let names = 0;
  return {
    fn: () => `fn-${++names}`,
    source: ({ lease } = {}) => actors.source(lease),
    client: (options) => actors.client(options),
    store: () => actors.store(),
    deleteHash: async (fn, id) => void (await redis.del(taggedKeysOf(fn).jobs + id)),
    submit: (fn, input, placement) => submit(redis, `{${fn}}`, input, placement),
    stored: async (fn, id) =>
      stateOf(new Map(Object.entries(await redis.hgetallBuffer(taggedKeysOf(fn).jobs + id)))),
    workers: async (fn) => Number(await redis.get(taggedKeysOf(fn).count)),
    subscriptions: (fn) => subscriptions(redis, `{${fn}}`),
    pass: async (ms) => {
      // First here: what the server does by its new time is never too early for a test.
      leaps.move(ms);
      await redis.incrby(AHEAD, ms);
      // As if workers had looked all the time: otherwise this is an outage, after which leases get time to be renewed.
      await Promise.all((await redis.keys('recovery:*')).map((key) => redis.del(key)));
      leaps.ring();
    },
    endTest: async () => {
      await actors.endTest();
      const violations = await slots.violations();
      if (violations.length > 0) throw new Error(`Keys of several slots: ${violations.join('; ')}`);
    },
    close: async () => {
      try {
        await actors.close();
      } finally {
        slots.stop();
        redis.disconnect();
        leaps.end();
        await server.stop();
      }
    },
  };
}
