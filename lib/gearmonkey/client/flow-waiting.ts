import type { Cluster, Redis } from 'ioredis';
import { readEntry, writeEntry, type FlowEntry } from '../../job/flows.js';
import type { WaitingFunctions } from './flow-store.js';

/** Most jobs that are looked at. */
const MOST_LOOKS = 10_000;

type Ask = <T>(question: (redis: Redis | Cluster) => Promise<T>) => Promise<T>;

/** The functions of jobs that wait for a job, or for one of these, and so on. Names are those on the wire. */
export async function waitingFor(
  first: FlowEntry,
  ask: Ask,
  nameOf: (entry: FlowEntry) => string,
): Promise<WaitingFunctions> {
  const functions = new Set<string>();
  const seen = new Set([placeOf(first)]);
  for (let next: readonly FlowEntry[] = [first]; next.length > 0;) {
    if (seen.size > MOST_LOOKS) return { functions: [...functions], isWhole: false };
    const fresh: FlowEntry[] = [];
    for (const child of await childrenOf(next, ask)) {
      if (seen.has(placeOf(child))) continue;
      seen.add(placeOf(child));
      functions.add(nameOf(child));
      fresh.push(child);
    }
    next = fresh;
  }
  return { functions: [...functions], isWhole: true };
}

/** Of jobs that have ended the lists are kept, but nothing waits for them any more. */
async function childrenOf(jobs: readonly FlowEntry[], ask: Ask): Promise<FlowEntry[]> {
  const lists = await ask((redis) =>
    Promise.all(
      jobs.map(async ({ fn, id }) => {
        const key = `job:${fn}:${id}`;
        const [[status], entries] = await Promise.all([
          redis.hmget(key, 'status').catch(noneOfAnotherType),
          redis.lrange(`${key}:children`, 0, MOST_LOOKS).catch(noneOfAnotherType),
        ]);
        return status === 'idle' || status === 'busy' ? entries : [];
      }),
    ),
  );
  return lists.flat().flatMap((text) => readEntry(text ?? '') ?? []);
}

/** A job is known by its function and id; of some only these are known. */
function placeOf(entry: FlowEntry): string {
  return writeEntry({ ...entry, mark: '' });
}

/** Of a key that another program has given another type, nothing is shown. */
export function noneOfAnotherType(error: unknown): never[] {
  if (String(error).includes('WRONGTYPE')) return [];
  throw error;
}
