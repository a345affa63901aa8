import { decode } from '@msgpack/msgpack';
import type { Claim, FreeSlots, JobSource, OnRevoked, Outcome } from '../../../lib/job/job-source.js';

/** The contract's inputs are any bytes, JQ's arguments are maps: the inputs travel as `{ input: bytes }`. */
export class EnvelopedSource implements JobSource {
  private readonly outer = new WeakMap<Claim, Claim>();
  private readonly inner = new WeakMap<Claim, Claim>();

  constructor(private readonly source: JobSource) {}

  get capabilities() {
    return this.source.capabilities;
  }

  open(functions: readonly string[], onRevoked?: OnRevoked): Promise<void> {
    return this.source.open(
      functions,
      onRevoked && ((claim, why) => onRevoked(this.outer.get(claim) ?? claim, why)),
    );
  }

  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    return (await this.source.claim(slots, signal)).map((claim) => this.unwrapped(claim));
  }

  async renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    return (await this.source.renew(claims.map((claim) => this.inner.get(claim) ?? claim))).map(
      (claim) => this.outer.get(claim) ?? claim,
    );
  }

  progress(claim: Claim, dividend: number, divisor: number): Promise<boolean> {
    return this.source.progress(this.inner.get(claim) ?? claim, dividend, divisor);
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    const inner = outcomes.map((outcome) => ({
      ...outcome,
      claim: this.inner.get(outcome.claim) ?? outcome.claim,
    }));
    return (await this.source.settle(inner)).map((claim) => this.outer.get(claim) ?? claim);
  }

  close(): Promise<void> {
    return this.source.close();
  }

  private unwrapped(claim: Claim): Claim {
    const { input } = decode(claim.input) as { input: Uint8Array };
    const unwrapped = { ...claim, input };
    this.outer.set(claim, unwrapped);
    this.inner.set(unwrapped, claim);
    return unwrapped;
  }
}
