import type { Payload } from '../job/codec.js';
import { JobCancelledError } from '../job/abort-errors.js';
import type { Progress } from '../job/job.js';
import type { Cancellation, JobListener, JobStore, Placement, StoredJob } from '../gearmonkey/job-store.js';
import { progressOf } from '../gearmonkey/stored-job.js';
import type { MemoryServer } from './memory-server.js';

/** The client's side of the embedded server. */
export class MemoryStore implements JobStore {
  constructor(private readonly server: MemoryServer) {}

  async enqueue(fn: string, inputs: readonly Payload[], placement: Placement): Promise<string[]> {
    const target = this.server.function(fn);
    return inputs.map((input) => target.enqueue(input, placement, Date.now()));
  }

  async read(fn: string, ids: readonly string[]): Promise<(StoredJob | undefined)[]> {
    return ids.map((id) => this.server.function(fn).read(id, Date.now()));
  }

  async readProgress(fn: string, ids: readonly string[]): Promise<(Progress | undefined)[]> {
    return (await this.read(fn, ids)).map((stored) => stored && progressOf(stored));
  }

  async cancel(fn: string, id: string): Promise<Cancellation> {
    const { name, code, message } = new JobCancelledError(fn, id);
    return this.server.function(fn).cancel(id, { name, code, message }, Date.now());
  }

  async count(fn: string): Promise<string | undefined> {
    const { workers } = this.server.function(fn);
    return workers === 0 ? undefined : String(workers);
  }

  async listen(fn: string, listener: JobListener): Promise<() => void> {
    const { listeners } = this.server.function(fn);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  async close(): Promise<void> {}
}
