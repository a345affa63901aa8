import { encode } from '@msgpack/msgpack';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import type { JqSourceOptions } from '../../../lib/jq/worker/source-options.js';
import type { JobHandler } from '../../../lib/worker/job-handler.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';
import { messagePack } from '../../../lib/jq/message-pack/codec.js';
import { defineJob } from '../../../lib/job/job-definition.js';
import { freePort } from '../../support/free-port.js';
import { runWorker, type RanWorker, type WorkerSettings } from '../../support/run-worker.js';
import { Http } from '../master/http.js';

export interface ListeningWorker extends RanWorker {
  /** Speaks to the worker as a master does. */
  readonly http: Http;
  /** What the source complained of. */
  readonly problems: string[];
}

/** A worker of ours that listens, with a handler for jobs of this name. */
export async function listeningWorker(
  master: string,
  name: string,
  handle: JobHandler,
  options: Partial<JqSourceOptions> & { readonly handler?: WorkerSettings } = {},
): Promise<ListeningWorker> {
  const { handler = {}, ...rest } = options;
  const port = await freePort();
  const problems: string[] = [];
  const onProblem = (message: string) => problems.push(message);
  const source = jq({ master, listen: { port }, onProblem, ...rest });
  const definition = defineJob(name, { codec: messagePack });
  const ran = await runWorker(source, definition, handle, handler);
  return { ...ran, http: new Http(`http://127.0.0.1:${port}`), problems };
}

/** A worker for jobs named "mail" that claims none, and a function that pushes a body to it. */
export async function idleWorker(master: string): Promise<{
  readonly push: (body: Buffer) => Promise<Response>;
  close(): Promise<void>;
}> {
  const port = await freePort();
  const source = jq({ master, listen: { port } });
  await source.open(['mail']);
  await source.claim(new SlotTable([['mail', 1]]), AbortSignal.timeout(50));
  return {
    push: (body) =>
      fetch(`http://127.0.0.1:${port}/worker-job`, { method: 'POST', body: new Uint8Array(body) }),
    close: () => source.close(),
  };
}

/** The body of a push, as masters send it. */
export function push(change: object = {}): Record<string, unknown> {
  const job = { id: 'j1', job_id: 'j1', name: 'mail', argument: { to: 'a@b' }, timeout: 30, attempt: 1 };
  return { ...job, ...change };
}

export function packed(value: unknown): Uint8Array {
  return encode(value);
}
