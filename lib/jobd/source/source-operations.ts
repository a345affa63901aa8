import { RequestError } from '../vocabulary/errors.js';
import type { DaemonOperations, DaemonStatus, ManualResults } from '../vocabulary/operations.js';
import type { WorkerRows } from './worker-rows.js';

/** The requests of a master to an app. Its targets are those of its handlers; signals are for processes only. */
export class SourceOperations implements DaemonOperations {
  constructor(private readonly rows: WorkerRows) {}

  poll(targets?: readonly string[]): void {
    this.rows.poll(this.rows.targets.select(targets));
  }

  pause(targets?: readonly string[]): void {
    this.rows.targets.setPaused(this.rows.targets.select(targets), true);
  }

  continue(targets?: readonly string[]): void {
    const names = this.rows.targets.select(targets);
    this.rows.targets.setPaused(names, false);
    this.rows.poll(names);
  }

  status(): DaemonStatus {
    return {
      targets: this.rows.targets.status(),
      jobPromisesCount: this.rows.waitingClients,
      memoryUsage: process.memoryUsage(),
    };
  }

  targets(): readonly string[] {
    return this.rows.targets.names;
  }

  addTarget(): void {
    refuse();
  }

  removeTarget(): void {
    refuse();
  }

  setTargetConcurrency(): void {
    refuse();
  }

  runManual(ids: readonly number[]): Promise<ManualResults> {
    return this.rows.runManual(ids);
  }

  sendSignal(jobs: ReadonlyMap<number, string | number>): Map<number, boolean> {
    return new Map([...jobs.keys()].map((id) => [id, false]));
  }

  /** The source itself updates the registration when handlers are added. */
  onTargetsChanged(): void {}
}

function refuse(): never {
  throw new RequestError("this worker's targets are the handlers of an app");
}
