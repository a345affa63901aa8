/** As many values as every server takes in one statement. */
const CHUNK = 1000;

/** Asks for so many values at a time, and gathers what comes. Nothing is asked for no values. */
export async function inChunks<V, R>(
  values: readonly V[],
  ask: (some: readonly V[]) => Promise<readonly R[] | void>,
): Promise<R[]> {
  const gathered: R[] = [];
  for (let start = 0; start < values.length; start += CHUNK) {
    for (const row of (await ask(values.slice(start, start + CHUNK))) ?? []) gathered.push(row);
  }
  return gathered;
}
