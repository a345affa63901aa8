/** Jobs that one call asks for at most. */
const MAX_CLAIMS = 500;
/** Calls of one function under way at the same time. */
const MAX_CALLS = 2;
/** Fewer are not worth two calls. */
const MIN_SPLIT = 8;

/** What one call carries. */
export interface Call {
  /** How many outcomes, at most. */
  readonly outcomes: number;
  /** How many jobs it asks for. */
  readonly slots: number;
}

/**
 * Which calls of one function are due, and what each carries: two at most are under way, and what comes up meanwhile
 * goes with the next, so that the busier a worker is the fewer calls a job costs.
 */
export class CallPlan {
  private wantsClaims = false;
  private underWay = 0;
  /** Slots that calls under way have asked jobs for. */
  private asked = 0;
  private isScheduled = false;

  /** Calls `begin` after all that runs in this tick, so that a settle and the claim that follows it are one call. */
  schedule(begin: () => void): void {
    if (this.isScheduled || this.isFull) return;
    this.isScheduled = true;
    process.nextTick(() => {
      this.isScheduled = false;
      begin();
    });
  }

  /** Jobs may wait: the next call asks for as many as there are free slots. */
  wantClaims(): void {
    this.wantsClaims = true;
  }

  /**
   * Begins the next call, if there is anything to send.
   *
   * @param outcomes that wait to be sent
   * @param slots that are free, whatever calls under way have asked for
   */
  next(outcomes: number, slots: number): Call | undefined {
    const free = this.wantsClaims ? this.unasked(slots) : 0;
    if (this.isFull || (outcomes === 0 && free === 0)) return undefined;
    const call = { outcomes: this.share(outcomes), slots: Math.min(MAX_CLAIMS, this.share(free)) };
    this.wantsClaims &&= call.slots < free;
    this.underWay += 1;
    this.asked += call.slots;
    return call;
  }

  /** A call has ended, and what it claimed has been handed over. @param failed whether it has to be made again */
  end({ slots }: Call, failed = false): void {
    this.underWay -= 1;
    this.asked -= slots;
    if (failed && slots > 0) this.wantsClaims = true;
  }

  /** Asks for jobs beside these calls; returns for how many, perhaps 0. `giveSlots` follows. */
  takeSlots(slots: number): number {
    const taken = Math.min(MAX_CLAIMS, this.unasked(slots));
    this.asked += taken;
    return taken;
  }

  /** What was asked for so has come. */
  giveSlots(taken: number): void {
    this.asked -= taken;
  }

  private get isFull(): boolean {
    return this.underWay === MAX_CALLS;
  }

  private unasked(slots: number): number {
    return Math.max(0, slots - this.asked);
  }

  /** The first of two calls takes half, so that the server works on one while handlers work on the other. */
  private share(count: number): number {
    return this.underWay === 0 && count >= MIN_SPLIT ? Math.ceil(count / 2) : count;
  }
}
