import { PythonActor, type ActorLine } from '../conformance/python-actor.js';
import { FAST, LIMITED, PLAIN, SHARED } from './jobs.mjs';
import type { Enqueued, JobName, PlainTrouble } from './history.js';

/** Words of a command that a patient worker sent again. */
type Line = ActorLine & { again?: [verb: string, ...words: string[]] };

/** More than any run lasts. */
const MANY = 10_000_000;
const TAKES = new Set(['BRPOP', 'EVALSHA']);

interface Client {
  readonly fn: string;
  readonly input: string;
  readonly args: readonly (string | number)[];
}

const CLIENTS: readonly Client[] = [
  { fn: PLAIN, input: 'plain', args: ['--pause', 0.02, '--blocking', '--timeout', 10] },
  { fn: SHARED, input: 'shared', args: ['--pause', 0.05] },
  { fn: FAST, input: '{"kind":"fast","ms":1}', args: ['--pause', 0.05, '--prio', 'high'] },
  { fn: LIMITED, input: '{"kind":"limited","ms":100,"tenant":"ada"}', args: ['--pause', 0.5] },
];

/** Clients and workers that know the protocol alone. They wait through outages, and are never killed. */
export class PlainActors {
  readonly enqueued: Enqueued[] = [];
  /** Ends that a waiting client saw, by the lock list and the hash. */
  readonly seen: (JobName & { readonly fields: Record<string, string> })[] = [];
  /** The functions with a plain worker. */
  readonly functions = [PLAIN, SHARED];
  private readonly takes = new Map<string, number>();
  private readonly repeated = new Set<string>();
  private readonly clients: PythonActor[] = [];
  private readonly workers: PythonActor[] = [];
  private readonly reading: Promise<void>[] = [];

  start(url: string): void {
    for (const fn of this.functions) {
      const worker = new PythonActor('worker', [url, fn, '--patient']);
      this.workers.push(worker);
      this.reading.push(this.read(worker, (line) => this.heardWorker(fn, line)));
    }
    for (const { fn, input, args } of CLIENTS) {
      const client = new PythonActor('client', [url, fn, input, '--patient', '--count', MANY, ...args]);
      this.clients.push(client);
      this.reading.push(this.read(client, (line) => this.heardClient(fn, line)));
    }
  }

  get trouble(): PlainTrouble {
    return { takes: this.takes, repeated: this.repeated };
  }

  async stopClients(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.stop()));
  }

  async stopWorkers(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
    await Promise.all(this.reading);
  }

  private heardClient(fn: string, { id, job, lock }: Line): void {
    if (id === undefined) return;
    if (!job) this.enqueued.push({ fn, id: String(id), kind: 'plain', took: 0 });
    else if (lock) this.seen.push({ fn, id: String(id), fields: job });
  }

  private heardWorker(fn: string, { again }: Line): void {
    if (!again) return;
    const [verb, first = '', second = ''] = again;
    if (TAKES.has(verb)) this.takes.set(fn, (this.takes.get(fn) ?? 0) + 1);
    const id = verb === 'PUBLISH' ? second.split(':').at(-1) : first.split(':').at(-1);
    this.repeated.add(`${fn}#${id}`);
  }

  /** Until it ends, whatever the reason: a quiet one is asked again. */
  private async read(actor: PythonActor, heard: (line: Line) => void): Promise<void> {
    let ended = false;
    void actor.exit.then(() => (ended = true));
    for (;;) {
      try {
        heard((await actor.line()) as Line);
      } catch (error) {
        if (ended) return;
        if (!(error instanceof Error) || !error.message.includes('silent')) return;
      }
    }
  }
}
