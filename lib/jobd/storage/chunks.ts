import { chunksOf as partsOf } from '../../batching/chunks.js';

/** Every server takes this many values in one statement. */
const CHUNK = 1000;

/** The values in chunks; none for no values. */
export function chunksOf<V>(values: readonly V[]): V[][] {
  return partsOf(values, CHUNK);
}

/** Asks for one chunk after another, and collects the results. */
export async function inChunks<V, R>(
  values: readonly V[],
  ask: (some: readonly V[]) => Promise<readonly R[] | void>,
): Promise<R[]> {
  const gathered: R[] = [];
  for (const some of chunksOf(values)) for (const row of (await ask(some)) ?? []) gathered.push(row);
  return gathered;
}
