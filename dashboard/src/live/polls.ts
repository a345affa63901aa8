import { ApiFailure, get, type BulkView, type FunctionView, type JobView, type Topic } from '../api.js';
import type { Listener, Told } from './messages.js';

/** The server answers from what is as old as this. */
const EVERY_MS = 2000;

/** Asks for topics one by one, every two seconds: where there can be no stream, and for those that are too many for it. */
export class Polls {
  readonly #running = new Map<string, AbortController>();

  constructor(private readonly on: Listener) {}

  watch(topics: readonly string[]): void {
    for (const [topic, controller] of this.#running)
      if (!topics.includes(topic)) {
        controller.abort();
        this.#running.delete(topic);
      }
    for (const topic of topics)
      if (!this.#running.has(topic)) {
        const controller = new AbortController();
        this.#running.set(topic, controller);
        void this.#poll(topic, controller.signal);
      }
  }

  async #poll(text: string, signal: AbortSignal): Promise<void> {
    const topic = JSON.parse(text) as Topic;
    for (const last = new Map<string, string>(); !signal.aborted;) {
      try {
        const told = await read(topic, last, signal);
        if (signal.aborted) return;
        this.on.refuse(text, undefined);
        this.on.contact(true);
        for (const one of told) this.on.tell(one);
      } catch (error) {
        if (signal.aborted) return;
        this.#failed(text, topic, error);
      }
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }

  #failed(text: string, topic: Topic, error: unknown): void {
    const { status, code, message } =
      error instanceof ApiFailure ? error : new ApiFailure(0, 'ERROR', String(error));
    const i = 'overview' in topic ? topic.overview : 'job' in topic ? topic.i : undefined;
    if (status === 0) this.on.contact(false);
    else if (status < 500) this.on.refuse(text, message);
    else if (i !== undefined) this.on.tell(['trouble', { i, error: { code, message } }]);
  }
}

/** What has changed since `last`, which is brought up to date. */
async function read(topic: Topic, last: Map<string, string>, signal: AbortSignal): Promise<readonly Told[]> {
  if ('overview' in topic) return overviewOf(topic.overview, topic.fns, last, signal);
  if ('bulk' in topic) {
    const bulk = await get<BulkView>('bulk', { id: topic.bulk }, signal);
    return isNew(last, '', bulk) ? [['bulk', bulk]] : [];
  }
  const { i = 'default', fn, job: id } = topic;
  const read = await get<JobView>('job', { i, fn, id }, signal).then(
    (job) => ({ job }),
    (error: unknown) => {
      if (error instanceof ApiFailure && error.code === 'JOB_NOT_FOUND') return { job: null };
      if (error instanceof ApiFailure && error.code === 'REFUSED')
        return { job: null, refused: error.message };
      throw error;
    },
  );
  return isNew(last, '', read) ? [['job', { i, fn, id, ...read }]] : [];
}

async function overviewOf(
  i: string,
  fns: readonly string[] | undefined,
  last: Map<string, string>,
  signal: AbortSignal,
): Promise<readonly Told[]> {
  const all = await get<FunctionView[]>('overview', { i }, signal);
  const found = all.filter(({ fn }) => fns === undefined || fns.includes(fn));
  const names = new Set(found.map(({ fn }) => fn));
  const gone = [...last.keys()].filter((fn) => !names.has(fn));
  for (const fn of gone) last.delete(fn);
  const functions = found.filter((one) => isNew(last, one.fn, one));
  return [['overview', { i, at: new Date().toISOString(), functions, gone }]];
}

function isNew(last: Map<string, string>, name: string, value: unknown): boolean {
  const text = JSON.stringify(value);
  if (last.get(name) === text) return false;
  last.set(name, text);
  return true;
}
