import { chunksOf as partsOf } from '../../flow/chunks.js';

/** As many values as every server takes in one statement. */
const CHUNK = 1000;

/** So many values at a time; nothing for no values. */
export function chunksOf<V>(values: readonly V[]): V[][] {
  return partsOf(values, CHUNK);
}

/** Asks for so many values at a time, and gathers what comes. Nothing is asked for no values. */
export async function inChunks<V, R>(
  values: readonly V[],
  ask: (some: readonly V[]) => Promise<readonly R[] | void>,
): Promise<R[]> {
  const gathered: R[] = [];
  for (const some of chunksOf(values)) for (const row of (await ask(some)) ?? []) gathered.push(row);
  return gathered;
}
