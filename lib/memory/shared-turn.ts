/** A function that shares a limit with others. */
export interface TurnTaker {
  /** Whether it would start a job of this key if it could: it has one, and its workers have asked without success. */
  waitsFor(key: string): boolean;
  /** Called when it has let its turn pass: it gets no other until its workers ask again. */
  letPass(): void;
}

/** How long a key is set aside for the function whose turn it is, in ms. */
const TURN_MS = 1000;

/** Whose turn it is to start a job of one key, of the functions that share a limit. */
export class SharedTurn<User extends TurnTaker> {
  private aside: { readonly user: User; readonly until: number } | undefined;
  /** The functions that have started jobs, the latest last. */
  private readonly served = new Set<User>();

  get isIdle(): boolean {
    return this.aside === undefined;
  }

  /** Until when the key is set aside, for others than `user` if it is given. */
  until(user?: User): number {
    return this.aside && this.aside.user !== user ? this.aside.until : 0;
  }

  /** Sets the key aside for the function that has waited longest, unless it is already. */
  pass(name: string, users: ReadonlySet<User>, now: number): void {
    if (this.aside) return void this.review(name, users, now);
    const order = [...this.served];
    const [user] = [...users]
      .filter((one) => one.waitsFor(name))
      .sort((a, b) => order.indexOf(a) - order.indexOf(b));
    if (user) this.aside = { user, until: now + TURN_MS };
  }

  /** Passes the turn on that a function has let pass, or has no jobs for. Returns whether it was one of these. */
  review(name: string, users: ReadonlySet<User>, now: number): boolean {
    if (!this.aside) return false;
    const { user, until } = this.aside;
    const isOver = until <= now || until > now + TURN_MS;
    if (!isOver && users.has(user) && user.waitsFor(name)) return false;
    this.aside = undefined;
    if (isOver) user.letPass();
    this.pass(name, users, now);
    return true;
  }

  /** Ends a turn with the start of a job. */
  use(user: User): void {
    const missed = this.aside?.user;
    this.aside = undefined;
    if (missed !== user) missed?.letPass();
    this.served.delete(user);
    this.served.add(user);
  }
}
