import type { Claim } from '../../job/job-source.js';

/** Claims of a second reply in the same tick as the first, for a worker that claims again in this tick. */
export class SpareClaims {
  private claims: Claim[] = [];

  /** @param release gives back those that were not taken */
  constructor(private readonly release: (claims: readonly Claim[]) => void) {}

  get isEmpty(): boolean {
    return this.claims.length === 0;
  }

  keep(claims: readonly Claim[]): void {
    this.claims.push(...claims);
    setImmediate(() => this.release(this.take()));
  }

  take(): Claim[] {
    return this.claims.splice(0);
  }
}
