import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decode, encode } from '@msgpack/msgpack';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { Agent, request } from 'undici';
import { Random } from '../../chaos/random.mjs';
import { gate } from '../../support/gate.js';
import { until } from '../../support/until.js';

const WORKERS = 50;
const CLIENTS = 10;
const IN_FLIGHT = 20;
const MAX_JOBS = 8;
const TENANTS = 10;
/** Milliseconds that workers take for a job; each worker has one of them. */
const SPEEDS = [0, 0, 1, 2, 5, 20];
const RETRY_MS = 200;
/** Of a hundred jobs. */
const RATED = 5;
const NARROW = 10;
const TENANTED = 20;

/** By the names of jobs. */
const CONCURRENCY = 5;
const PER_TENANT = 2;
const RATE = { count: 50, period: 1 };
const CONSTRAINTS = [
  { match: [{ field: 'name', equal: 'narrow' }], concurrency: CONCURRENCY },
  { match: [{ field: 'name', equal: 'tenant' }], per: 'argument.tenant', concurrency: PER_TENANT },
  { match: [{ field: 'name', equal: 'rated' }], rate: RATE },
];

export interface LoadOptions {
  /** Of the masters. */
  readonly urls: readonly string[];
  readonly redis: Redis;
  readonly jobs: number;
  readonly seed: number;
  /** Milliseconds. */
  readonly patience: number;
}

export interface LoadReport {
  /** Of a limit that was exceeded, of jobs that ran other than once: none, if all is well. */
  readonly violations: readonly string[];
  readonly seconds: number;
  /** The most jobs at a time, over all workers and of each kind that is limited. */
  readonly most: Readonly<Record<string, number>>;
}

interface Push {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly argument: { readonly tenant: number };
}

/** The master could not ask Redis. */
class UnavailableError extends Error {}

/** Many jobs, and workers of mixed speed that look at the limits from their side. */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const load = new Load(options);
  try {
    return await load.run();
  } finally {
    await load.close();
  }
}

class Load {
  private readonly agent = new Agent({ connections: 64 });
  private readonly servers: Server[] = [];
  private readonly running = new Map<string, number>();
  private readonly most = new Map<string, number>();
  private readonly limits = new Map<string, number>();
  private readonly runs = new Map<string, number>();
  private readonly violations: string[] = [];
  /** Opened once as many run as may: until then they stay, so that the limits are met on any machine. */
  private readonly full = new Map([
    ['narrow', gate()],
    ['tenant', gate()],
  ]);
  private readonly random: Random;
  private calls = 0;

  constructor(private readonly options: LoadOptions) {
    this.random = new Random(options.seed);
  }

  async run(): Promise<LoadReport> {
    for (const constraint of CONSTRAINTS) await this.post('/constraints', constraint);
    await Promise.all(Array.from({ length: WORKERS }, () => this.worker()));
    const begun = performance.now();
    const ids = (
      await Promise.all(Array.from({ length: CLIENTS }, (_, client) => this.client(client)))
    ).flat();
    await until(async () => (await this.counts()).done === ids.length, {
      timeout: this.options.patience,
      message: 'Not all jobs came to their end',
    });
    const seconds = (performance.now() - begun) / 1000;
    const odd = ids.filter((id) => this.runs.get(id) !== 1);
    if (odd.length > 0) this.violations.push(`${odd.length} jobs did not run once, as ${odd[0]}`);
    await this.checkRate(ids);
    return { violations: this.violations, seconds, most: Object.fromEntries(this.most) };
  }

  async close(): Promise<void> {
    for (const server of this.servers) {
      server.closeAllConnections();
      server.close();
    }
    await this.agent.destroy();
  }

  private async worker(): Promise<void> {
    const [maxJobs, ms] = [this.random.int(1, MAX_JOBS), this.random.pick(SPEEDS)];
    const server = createServer((pushed, response) => {
      const chunks: Buffer[] = [];
      pushed.on('data', (chunk: Buffer) => chunks.push(chunk));
      pushed.on('end', () => {
        const job = decode(Buffer.concat(chunks)) as Push;
        this.enter(id, job);
        response.writeHead(202).end();
        const leave = () => setTimeout(() => this.leave(id, job), ms);
        void (this.full.get(job.name)?.passed ?? Promise.resolve()).then(leave);
      });
    });
    this.servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { worker_id: id = '' } = await this.post('/worker', { name: 'load', max_jobs: maxJobs, url });
    this.limits.set(id, maxJobs);
  }

  private enter(worker: string, job: Push): void {
    this.runs.set(job.id, (this.runs.get(job.id) ?? 0) + 1);
    for (const [key, limit] of this.keysOf(worker, job)) {
      const running = (this.running.get(key) ?? 0) + 1;
      this.running.set(key, running);
      const kind = key.split(':', 1)[0] ?? '';
      this.most.set(kind, Math.max(this.most.get(kind) ?? 0, running));
      if (running === limit) this.full.get(kind)?.open();
      if (running > limit) this.violations.push(`${running} of ${limit} for ${key}`);
    }
  }

  /** Counted down before the report goes out: from then on the master may send another. */
  private leave(worker: string, job: Push): void {
    for (const [key] of this.keysOf(worker, job)) this.running.set(key, (this.running.get(key) ?? 0) - 1);
    const report = { job_id: job.id, attempt: job.attempt, type: 'success' };
    this.insist('/done', report, { 'worker-id': worker }).catch((error: unknown) => {
      this.violations.push(`a report was not taken: ${String(error)}`);
    });
  }

  private keysOf(worker: string, { name, argument: { tenant } }: Push): [key: string, limit: number][] {
    const keys: [string, number][] = [
      ['all', Infinity],
      [`worker:${worker}`, this.limits.get(worker) ?? 0],
    ];
    if (name === 'narrow') keys.push(['narrow', CONCURRENCY]);
    if (name === 'tenant') keys.push([`tenant:${tenant}`, PER_TENANT]);
    return keys;
  }

  private async client(client: number): Promise<string[]> {
    const ids: string[] = [];
    const count = Math.ceil((this.options.jobs - client) / CLIENTS);
    let sent = 0;
    const lane = async () => {
      while (sent < count) {
        sent += 1;
        const key = { 'idempotency-key': `${client}-${sent}` };
        const { job_id: id = '' } = await this.insist('/job', this.job(), key);
        ids.push(id);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
    return ids;
  }

  private job(): object {
    const kind = this.random.int(0, 99);
    const names = [
      ['rated', RATED],
      ['narrow', RATED + NARROW],
      ['tenant', RATED + NARROW + TENANTED],
    ] as const;
    const name = names.find(([, below]) => kind < below)?.[0] ?? 'plain';
    return {
      name,
      argument: { tenant: this.random.int(1, TENANTS) },
      priority: this.random.int(-2, 2),
      timeout: 600,
    };
  }

  /** By the clock of Redis, so that no delay on the way hides or feigns anything. */
  private async checkRate(ids: readonly string[]): Promise<void> {
    const starts: number[] = [];
    for (let i = 0; i < ids.length; i += 1000) {
      const pipeline = this.options.redis.pipeline();
      for (const id of ids.slice(i, i + 1000)) pipeline.hmget(`{jq}:job:${id}`, 'name', 'handed');
      for (const [, fields] of (await pipeline.exec()) ?? []) {
        const [name, handed] = fields as string[];
        if (name === 'rated') starts.push(Number(handed));
      }
    }
    starts.sort((one, other) => one - other);
    const { count, period } = RATE;
    const early = starts.filter((start, i) => (starts[i + count] ?? Infinity) - start < period * 1000);
    if (starts.length <= count) this.violations.push('too few jobs to say anything of the rate');
    if (early.length > 0) this.violations.push(`the rate was exceeded ${early.length} times`);
  }

  private async counts(): Promise<{ readonly done: number }> {
    const { body } = await request(`${this.options.urls[0]}/api/counts`, { dispatcher: this.agent });
    return decode(await body.bytes()) as { done: number };
  }

  /** Again where Redis could not be asked in time, as on a machine that is busy: only what may be sent twice. */
  private async insist(path: string, value: object, headers: object): Promise<Record<string, string>> {
    for (;;) {
      try {
        return await this.post(path, value, headers);
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        await delay(RETRY_MS);
      }
    }
  }

  private async post(path: string, value: object, headers = {}): Promise<Record<string, string>> {
    const { urls } = this.options;
    const url = urls[this.calls++ % urls.length] + path;
    const { statusCode, body } = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/msgpack', ...headers },
      body: encode(value),
      dispatcher: this.agent,
    });
    const bytes = await body.bytes();
    if (statusCode === 503) throw new UnavailableError();
    if (statusCode >= 300) throw new Error(`${path} answered ${statusCode}`);
    return bytes.length === 0 ? {} : (decode(bytes) as Record<string, string>);
  }
}
