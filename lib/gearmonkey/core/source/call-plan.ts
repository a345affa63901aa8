/** Most jobs that one call asks for. */
const MAX_CLAIMS = 500;
/** Most calls of one function under way at the same time. */
const MAX_CALLS = 2;
/** Fewer outcomes or slots than this are not split between two calls. */
const MIN_SPLIT = 8;

/** What one call carries. */
export interface Call {
  /** The most outcomes that it takes. */
  readonly outcomes: number;
  /** How many jobs it asks for. */
  readonly slots: number;
}

/**
 * Decides when calls of one function are made, and what each carries. At most two are under way, and further outcomes
 * and claims go with the next call, so under load a job costs fewer calls.
 */
export class CallPlan {
  private wantsClaims = false;
  private underWay = 0;
  /** For how many slots the calls under way have asked for jobs. */
  private asked = 0;
  private isScheduled = false;

  /** Calls `begin` at the end of this tick, so that a settle and the following claim share a call. */
  schedule(begin: () => void): void {
    if (this.isScheduled || this.isFull) return;
    this.isScheduled = true;
    process.nextTick(() => {
      this.isScheduled = false;
      begin();
    });
  }

  /** Makes the next call ask for as many jobs as there are free slots. */
  wantClaims(): void {
    this.wantsClaims = true;
  }

  /**
   * Begins the next call, if there is anything to send.
   *
   * @param outcomes how many outcomes wait to be sent
   * @param slots how many slots are free, including those that calls under way have asked for
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

  /** Records that a call has ended and its claims were passed on. @param failed whether it must be repeated */
  end({ slots }: Call, failed = false): void {
    this.underWay -= 1;
    this.asked -= slots;
    if (failed && slots > 0) this.wantsClaims = true;
  }

  /** Reserves slots for a call outside this plan; returns how many, perhaps 0. Call `giveSlots` afterwards. */
  takeSlots(slots: number): number {
    const taken = Math.min(MAX_CLAIMS, this.unasked(slots));
    this.asked += taken;
    return taken;
  }

  /** Ends the reservation of `takeSlots`. */
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
