import { afterAll, afterEach, beforeAll, expect, jest } from '@jest/globals';
import { EmbeddedServer } from '../../lib/embedded/embedded-server.js';
import { Mirror } from './mirror.js';

const real = await import('../support/use-redis.js');

const fresh = () => new EmbeddedServer({ now: () => Date.now() });
const embedded = { server: fresh() };
/** Facts of which the two may choose an order each, or a millisecond: what SCAN finds first and how much, and TIME. */
const EACH_ITS_OWN =
  /scans very many scheduled jobs|ends jobs of many keys|time of the server|until its time is over|reads all of them in pages|mebibyte only the ids|more keys set aside than one call looks at/;

/** What `useRedis` gives, with an embedded server beside the real one. */
function mirrored(): ReturnType<typeof real.useRedis> {
  const used = real.useRedis();
  let mirror: Mirror | undefined;
  beforeAll(async () => {
    // Both know no script and have no data.
    await used.redis.script('FLUSH');
    await used.redis.flushall();
    embedded.server = fresh();
    mirror = new Mirror(used.redis, embedded);
  });
  afterEach(async () => {
    if (!mirror) return;
    const found = [...mirror.differences.splice(0), ...(await mirror.dataDifferences())];
    // What the next test compares is its own.
    await used.redis.flushall();
    if (!EACH_ITS_OWN.test(expect.getState().currentTestName ?? '')) expect(found).toEqual([]);
  });
  afterAll(() => {
    mirror?.end();
    mirror = undefined;
  });
  return used;
}
jest.unstable_mockModule('../support/use-redis.js', () => ({ ...real, useRedis: mirrored }));

/** Runs facts of the scripts, told by their places in `gearmonkey/`, on a Redis server and an embedded one at the same time, and compares all replies and data. */
export async function mirrorFacts(suites: readonly string[]): Promise<void> {
  for (const suite of suites) await import(`../gearmonkey/${suite}.spec.js`);
}
