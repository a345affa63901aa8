import { decode, encode } from '@msgpack/msgpack';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** Decoded from MessagePack; `undefined` for no body, and where that can't be done. */
  readonly body: unknown;
  readonly bytes: Buffer;
}

export interface Call {
  readonly body?: Uint8Array | string;
  readonly worker?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** A plain client: it knows bytes and the contract, and nothing of ours. */
export class Http {
  constructor(
    readonly url: string,
    private readonly check?: (method: string, path: string, reply: Reply) => void,
  ) {}

  async call(
    method: string,
    path: string,
    { body, worker, headers = {}, signal }: Call = {},
  ): Promise<Reply> {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...(worker === undefined ? {} : { 'worker-id': worker }), ...headers },
      ...(body === undefined ? {} : { body }),
      ...(signal ? { signal } : {}),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const isMessagePack = response.headers.get('content-type') === 'application/msgpack';
    const decoded = isMessagePack ? tryToDecode(bytes) : undefined;
    const reply = { status: response.status, headers: response.headers, body: decoded, bytes };
    this.check?.(method, path, reply);
    return reply;
  }

  /** A POST whose body is what a MessagePack codec makes of `value`. */
  post(path: string, value: unknown, call: Call = {}): Promise<Reply> {
    const headers = { 'content-type': 'application/msgpack', ...call.headers };
    return this.call('POST', path, { ...call, headers, body: encode(value) });
  }

  async enqueue(job: object = {}): Promise<string> {
    return word(await this.post('/job', { name: 'mail', argument: {}, ...job }), 'job_id');
  }

  async register(worker: object = {}): Promise<string> {
    return word(await this.post('/worker', { name: 'w', max_jobs: 1, ...worker }), 'worker_id');
  }

  pull(worker: string, timeout = 0): Promise<Reply> {
    return this.call('POST', `/worker/pull?timeout=${timeout}`, { worker });
  }

  job(id: string): Promise<Reply> {
    return this.call('GET', `/job/${id}`);
  }
}

/** Some replies hold what only other languages can read. */
function tryToDecode(bytes: Buffer): unknown {
  try {
    return decode(bytes);
  } catch {
    return undefined;
  }
}

function word({ status, body }: Reply, key: string): string {
  if (status !== 201) throw new Error(`Expected 201, got ${status}: ${JSON.stringify(body)}`);
  return String((body as Record<string, unknown>)[key]);
}
