import type { Observable } from 'rxjs';
import type { Duration } from '../../job/duration.js';
import type { FunctionRef } from '../../job/job-definition.js';
import type { JqJob } from './jq-job.js';
import { showAs } from '../../job/show-as.js';

/** Options of a call that waits. */
export interface JqPollOptions {
  /** How long it waits, rounded up to seconds; 0 asks once. @default '5s' */
  timeout?: Duration;
  signal?: AbortSignal;
}

/** The calls of a client that a handle makes. */
interface JobCalls {
  get(id: string, ref: FunctionRef): Promise<JqJob | null>;
  poll(id: string, options: JqPollOptions | undefined, ref: FunctionRef): Promise<JqJob | null>;
  cancel(id: string): Promise<void>;
  result(id: string, ref: FunctionRef): Observable<unknown>;
}

/** An enqueued job: what `JqClient` does by id, with the types of its definition. */
export class JqJobHandle<Output = unknown> {
  static {
    showAs(JqJobHandle, ({ id }) => ({ id }));
  }

  /** @internal */
  constructor(
    private readonly client: JobCalls,
    readonly id: string,
    private readonly ref: FunctionRef,
  ) {}

  /** @see JqClient.get */
  get(): Promise<JqJob<Output> | null> {
    return this.client.get(this.id, this.ref) as Promise<JqJob<Output> | null>;
  }

  /** @see JqClient.poll */
  poll(options?: JqPollOptions): Promise<JqJob<Output> | null> {
    return this.client.poll(this.id, options, this.ref) as Promise<JqJob<Output> | null>;
  }

  /** @see JqClient.cancel */
  cancel(): Promise<void> {
    return this.client.cancel(this.id);
  }

  /** @see JqClient.result */
  result(): Observable<Output> {
    return this.client.result(this.id, this.ref) as Observable<Output>;
  }
}
