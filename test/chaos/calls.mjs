// What a producer waits for: calls by the thousand, results and watches.
import { lastValueFrom, timeout } from 'rxjs';
import { FAST } from './jobs.mjs';

/** Far more than anything takes, so that giving up means that a finish was missed. */
const PATIENCE_MS = 60_000;

const codeOf = (error) => ({ code: error.code ?? error.name ?? String(error) });
const codeOfWait = (error) => (error.name === 'TimeoutError' ? { code: 'WAIT_TIMEOUT' } : codeOf(error));

/** What `wait` told, and how long the process had no processor meanwhile. */
async function withStarvation(starvation, wait) {
  const before = starvation.ms;
  const told = await wait();
  return { ...told, starved: starvation.ms - before };
}

/** So many calls at once; each says whose output it got. */
export function callMany(client, note, names, starvation) {
  return Promise.all(
    names.map(async (n) => {
      const began = performance.now();
      const told = await withStarvation(starvation, () =>
        client
          .call(FAST, { n, kind: 'fast', ms: 1 }, { timeout: PATIENCE_MS })
          .then((output) => ({ got: output?.n ?? JSON.stringify(output) }), codeOf),
      );
      note({ e: 'call', n, ...told, took: Math.round(performance.now() - began) });
    }),
  );
}

/** How far a flow was in the end. */
export async function awaitFlow(flow, note, names, starvation) {
  const told = await withStarvation(starvation, () =>
    lastValueFrom(flow.progress$.pipe(timeout(PATIENCE_MS))).catch(codeOfWait),
  );
  const { fn, id } = flow.root;
  note({ e: 'flow', fn, id, names, ...told });
}

export async function awaitResult(handle, note, of, starvation) {
  const { fn, id } = handle;
  const told = await withStarvation(starvation, () =>
    handle.result({ timeout: PATIENCE_MS }).then(({ n }) => ({ n }), codeOf),
  );
  note({ e: 'result', fn, id, of, ...told });
}

/** The last that a watcher sees is the job's end. */
export async function watchToEnd(client, handle, note, of, starvation) {
  const { fn, id } = handle;
  const watched = client.watch(fn, id).pipe(timeout(PATIENCE_MS));
  const told = await withStarvation(starvation, () =>
    lastValueFrom(watched).then(
      ({ state, output }) => (state === 'succeeded' ? { n: output.n } : { code: state }),
      codeOfWait,
    ),
  );
  // By its id alone, a watcher sees whatever job has it: another if this one was lost in a failover.
  const lost = told.n !== undefined && told.n !== of && (await handle.get().then(() => undefined, codeOf));
  note({ e: 'result', fn, id, of, ...(lost?.code === 'JOB_LOST' ? lost : told) });
}
