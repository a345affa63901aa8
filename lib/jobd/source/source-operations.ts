import { RequestError } from '../vocabulary/errors.js';
import type { DaemonOperations, DaemonStatus, ManualResults } from '../vocabulary/operations.js';
import type { SourceWork } from './worker-rows.js';

/** What a master may ask of an app. Its targets are its handlers, and signals are for processes. */
export class SourceOperations implements DaemonOperations {
  constructor(private readonly work: SourceWork) {}

  poll(targets?: readonly string[]): void {
    this.work.poll(this.work.targets.select(targets));
  }

  pause(targets?: readonly string[]): void {
    this.work.targets.setPaused(this.work.targets.select(targets), true);
  }

  continue(targets?: readonly string[]): void {
    const names = this.work.targets.select(targets);
    this.work.targets.setPaused(names, false);
    this.work.poll(names);
  }

  status(): DaemonStatus {
    return {
      targets: this.work.targets.status(),
      jobPromisesCount: this.work.waitingClients,
      memoryUsage: process.memoryUsage(),
    };
  }

  targets(): readonly string[] {
    return this.work.targets.names;
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
    return this.work.runManual(ids);
  }

  sendSignal(jobs: ReadonlyMap<number, string | number>): Map<number, boolean> {
    return new Map([...jobs.keys()].map((id) => [id, false]));
  }

  /** The source itself updates the registration when handlers come. */
  onTargetsChanged(): void {}
}

function refuse(): never {
  throw new RequestError("this worker's targets are the handlers of an app");
}
