import { median } from '../../harness/statistics.mjs';
import { connect } from './forms.mjs';

const PIPELINE = 100;
const POPPED = 50;
const PINGS_A_SLICE = 10_000;
const SLICES = 10;
const DATA = '{"n":1}';

/**
 * How many PINGs of the loop below cost as much as one job of the original. Measured with the original's own script, the
 * command-first form before throttles (62 KB, changed only so that Redis 7 loads it), in loops like these, alternating with
 * PINGs. Five runs had medians of 11, 13.5, 15, 22 and 28 for put, and 22, 37, 39, 48 and 69 for pop and complete. They
 * differ this much because PINGs slow down less than scripts on a busy machine, so the ratio is just as uncertain.
 * docs/notes/qless-performance.md has a direct comparison.
 */
const ORIGINAL_IN_PINGS = { putPipelined: 15, popComplete50: 39 };

/** The loops: each puts, or pops and completes, `count` jobs. */
const LOOPS = {
  putSequential: async ({ call }, jobs) => {
    for (const jid of jobs) await call(...putOf(jid));
  },
  putPipelined: async ({ pipeline }, jobs) => {
    for (const part of partsOf(jobs, PIPELINE)) await pipeline(part.map(putOf));
  },
  popComplete1: async ({ call }, jobs) => {
    for (let left = jobs.length; left > 0; left--) {
      const [jid] = await popped(call, 1);
      await call(...completeOf(jid));
    }
  },
  popComplete50: async ({ call, pipeline }, jobs) => {
    for (let left = jobs.length; left > 0; left -= POPPED) {
      await pipeline((await popped(call, POPPED)).map(completeOf));
    }
  },
  popCompleteMany: async ({ call }, jobs) => {
    for (let left = jobs.length; left > 0; left -= POPPED) {
      const pairs = (await popped(call, POPPED)).flatMap((jid) => [jid, DATA]);
      await call('complete.many', Date.now() / 1000, 'worker', 'queue', ...pairs);
    }
  },
};

/**
 * A round of these loops: jobs per second by name, PINGs per second, and server time per job in µs. Each loop runs in
 * slices that alternate with the PING loop, so a busy moment of the machine affects both.
 */
export async function loops({ contender, addresses, jobs }, names, full) {
  const connection = await connect(contender, addresses.redis);
  /** @type {Record<string, number>} */
  const figures = {};
  try {
    for (const name of names) {
      await connection.redis.flushall('SYNC');
      const slices = await run(connection, name, multipleOf(POPPED, jobs(full) / SLICES));
      Object.assign(figures, figuresOf(name, slices.slice(1)));
    }
  } finally {
    connection.redis.disconnect();
  }
  return figures;
}

/** The first slice warms up. */
async function run(connection, name, count) {
  const slices = [];
  for (let slice = 0; slice <= SLICES; slice++) {
    const jobs = Array.from({ length: count }, (_, index) => `${slice}-${index}`);
    if (name.startsWith('pop')) await LOOPS.putPipelined(connection, jobs);
    const before = await scriptMicroseconds(connection.redis);
    const seconds = await timed(() => LOOPS[name](connection, jobs));
    const server = ((await scriptMicroseconds(connection.redis)) - before) / count;
    slices.push({ rate: count / seconds, server, ping: await pingRate(connection.redis) });
  }
  return slices;
}

function figuresOf(name, slices) {
  const inPings = median(slices.map(({ rate, ping }) => ping / rate));
  const original = ORIGINAL_IN_PINGS[name === 'popCompleteMany' ? 'popComplete50' : name];
  return {
    [name]: median(slices.map(({ rate }) => rate)),
    [`${name}Ping`]: median(slices.map(({ ping }) => ping)),
    [`${name}Server`]: median(slices.map(({ server }) => server)),
    ...(original && { [`${name}OfOriginal`]: original / inPings }),
  };
}

async function pingRate(redis) {
  const seconds = await timed(async () => {
    for (let sent = 0; sent < PINGS_A_SLICE; sent += PIPELINE) {
      const pipeline = redis.pipeline();
      for (let i = 0; i < PIPELINE; i++) pipeline.ping();
      await pipeline.exec();
    }
  });
  return PINGS_A_SLICE / seconds;
}

/** The time that the server has spent in scripts. */
async function scriptMicroseconds(redis) {
  return Number(/cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
}

function putOf(jid) {
  return ['put', Date.now() / 1000, 'worker', 'queue', jid, 'klass', DATA, 0];
}

function completeOf(jid) {
  return ['complete', Date.now() / 1000, jid, 'worker', 'queue', DATA];
}

async function popped(call, count) {
  const jobs = JSON.parse(await call('pop', Date.now() / 1000, 'queue', 'worker', count));
  return jobs.map(({ jid }) => jid);
}

function partsOf(list, size) {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, part) =>
    list.slice(part * size, (part + 1) * size),
  );
}

function multipleOf(size, count) {
  return Math.max(1, Math.round(count / size)) * size;
}

async function timed(action) {
  const started = performance.now();
  await action();
  return (performance.now() - started) / 1000;
}
