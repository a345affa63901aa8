import type { LeaseKeeper } from './lease-keeper.js';

/** Whether the main thread has to keep what the keeper's thread can't; says so when that changes. */
export class StandIn {
  private active = false;

  /** @param patience ms that the thread may renew nothing */
  constructor(
    private readonly patience: number,
    private readonly onProblem: (message: string) => void,
  ) {}

  get isActive(): boolean {
    return this.active;
  }

  /** To be asked while Redis can be reached otherwise: in an outage nobody can keep anything. */
  isNeeded({ age, trouble }: LeaseKeeper): boolean {
    const isLate = age > this.patience;
    if (isLate !== this.active) {
      this.onProblem(
        isLate
          ? `The lease keeper's thread has not reached Redis for ${age} ms (${trouble}); ` +
              'leases are kept by the main thread until it does.'
          : "The lease keeper's thread reaches Redis again, and keeps the leases.",
      );
    }
    this.active = isLate;
    return isLate;
  }
}

/** What an operator is told where the main thread has to keep leases for good. */
export function withoutKeeper(option: string): string {
  return (
    `Leases are kept by the main thread, since \`connection.${option}\` holds a function or context, which no thread ` +
    'can be given: a handler that blocks the event loop for as long as a lease loses its job.'
  );
}
