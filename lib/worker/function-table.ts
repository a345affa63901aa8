import type { Claim } from '../job/job-source.js';
import { FunctionSlots } from './function-slots.js';
import type { HandlerBinding } from './job-handler.js';
import { SlotTable } from './slot-table.js';

/** A function that a worker runs. */
export interface RunningFunction {
  readonly fn: string;
  /** How many of its jobs, or of its batches, may run at the same time in this process; 0 if it is paused. */
  readonly concurrency: number;
  /** How many run now. */
  readonly running: number;
}

/** The functions of a worker, and how many jobs of each may be claimed. */
export class FunctionTable {
  /** The free slots that a source reads. */
  readonly free = new SlotTable();
  private readonly functions = new Map<string, FunctionSlots>();
  private isOpen = true;

  /** @param onFree called when a function has a free slot again, also after a batch whose jobs had all ended before it */
  constructor(
    bindings: readonly HandlerBinding[],
    private readonly claimsAhead: boolean,
    onFree: () => void = () => undefined,
  ) {
    this.free.onFree(onFree);
    for (const binding of bindings) this.add(binding);
  }

  get names(): string[] {
    return [...this.functions.keys()];
  }

  all(): Iterable<FunctionSlots> {
    return this.functions.values();
  }

  get(fn: string): FunctionSlots | undefined {
    return this.functions.get(fn);
  }

  list(): RunningFunction[] {
    return [...this.functions].map(([fn, { concurrency, runs }]) => ({ fn, concurrency, running: runs }));
  }

  add(binding: HandlerBinding): void {
    const { name } = binding.definition;
    this.functions.set(name, new FunctionSlots(binding, this.claimsAhead));
    if (binding.batch) binding.batch.onPlaces = () => this.update(name);
    this.update(name);
  }

  delete(fn: string): void {
    this.functions.delete(fn);
    this.update(fn);
  }

  /** Updates the free slots of a function. */
  update(fn: string): void {
    this.free.set(fn, this.isOpen ? (this.functions.get(fn)?.free ?? 0) : 0);
  }

  /** Whether there are free slots at all. */
  setOpen(isOpen: boolean): void {
    this.isOpen = isOpen;
    for (const fn of this.functions.keys()) this.update(fn);
  }

  /** Drops a claim that waited for a slot. */
  drop(claim: Claim): boolean {
    const dropped = this.functions.get(claim.fn)?.drop(claim) ?? false;
    if (dropped) this.update(claim.fn);
    return dropped;
  }
}
