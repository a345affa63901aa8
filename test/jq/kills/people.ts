import { randomUUID } from 'node:crypto';
import { decode, encode } from '@msgpack/msgpack';
import { until } from '../../support/until.js';

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

const NOBODYS = { match: [{ field: 'name', equal: 'nobodys' }], concurrency: 1 };

/** What administrators do beside the jobs of others: whatever is lost on the way, nothing of it stays. */
export class People {
  constructor(private readonly url: string) {}

  /** Makes each call that there is for a job and a worker, with ones of its own. */
  async work(): Promise<void> {
    const constraint = await this.made('/constraints', NOBODYS, 'id');
    await this.ask('PUT', `/constraints/${constraint}`, { ...NOBODYS, concurrency: 2 });
    const name = `nobodys-${randomUUID()}`;
    const cancelled = await this.enqueue(name);
    await this.ask('DELETE', `/job/${cancelled}`);
    await this.isGone(cancelled);
    const worker = await this.made('/worker', { name: 'people', max_jobs: 5, names: [name] }, 'worker_id');
    for (const again of [
      (id: string) => `/api/jobs/${id}/retry`,
      (id: string) => `/api/dead-letters/${id}/requeue`,
    ]) {
      const job = await this.fail(await this.enqueue(name), worker);
      await this.ask('POST', again(job));
      await this.fail(job, worker);
      await this.ask('DELETE', `/api/dead-letters/${job}`);
      await this.isGone(job);
    }
    const discarded = await this.enqueue(name);
    await this.ask('DELETE', `/api/jobs/${discarded}`);
    await this.isGone(discarded);
    await this.ask('DELETE', `/api/workers/${worker}`);
  }

  async forgetConstraints(): Promise<void> {
    const { body } = await this.ask('GET', '/constraints');
    const { constraints } = body as { constraints: { id: string }[] };
    await Promise.all(constraints.map(({ id }) => this.ask('DELETE', `/constraints/${id}`)));
  }

  /** Pulled and failed; where the reply of the pull was lost, by its timeout. */
  private async fail(job: string, worker: string): Promise<string> {
    await until(async () => {
      const { status, body } = await this.ask('POST', '/worker/pull?timeout=0', undefined, worker);
      if (status === 200) {
        const { id, attempt } = body as { id: string; attempt: number };
        const why = { reason: 'other', should_retry: false, message: 'no' };
        await this.ask('POST', '/done', { job_id: id, attempt, type: 'failure', ...why }, worker);
      }
      const view = await this.ask('GET', `/job/${job}`);
      return (view.body as { status?: string }).status === 'error';
    });
    return job;
  }

  private async isGone(job: string): Promise<void> {
    const { status } = await this.ask('GET', `/job/${job}`);
    if (status !== 404) throw new Error(`Job ${job} is still there: ${status}`);
  }

  private enqueue(name: string): Promise<string> {
    const job = { name, argument: {}, timeout: 1, max_retry: 0 };
    return this.made('/job', job, 'job_id', { 'idempotency-key': randomUUID() });
  }

  private async made(path: string, body: unknown, key: string, headers = {}): Promise<string> {
    const reply = await this.ask('POST', path, body, undefined, headers);
    return String((reply.body as Record<string, unknown>)[key]);
  }

  /** Until there is an answer. */
  private ask(method: string, path: string, body?: unknown, worker?: string, more = {}): Promise<Reply> {
    return until(
      async () => {
        try {
          const headers = { ...more, ...(worker === undefined ? {} : { 'worker-id': worker }) };
          const sent = body === undefined ? {} : { body: encode(body) };
          const reply = await fetch(this.url + path, { method, headers, ...sent });
          const bytes = Buffer.from(await reply.arrayBuffer());
          if (reply.status >= 500) return undefined;
          return { status: reply.status, body: bytes.length > 0 ? decode(bytes) : undefined };
        } catch {
          return undefined;
        }
      },
      { message: `No answer to ${method} ${path}` },
    );
  }
}
