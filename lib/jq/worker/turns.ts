import type { Registration } from './registration.js';

/**
 * Whose turn it is when a place gets free. The master lets a registration rest whose push was refused for lack of room, and
 * one that does not rest would take each place first. So a refused one pulls instead, in turn with others, as long as that
 * brings jobs; its place is kept meanwhile.
 */
export class Turns {
  private readonly waiting = new Set<Registration>();
  private readonly pulling = new Set<Registration>();

  /** How many places are kept. */
  get kept(): number {
    return this.pulling.size;
  }

  /** How many of them are of this function. */
  keptFor(fn: string): number {
    return [...this.pulling].filter((each) => each.fn === fn).length;
  }

  /** A push of it was refused. */
  join(registration: Registration): void {
    this.waiting.add(registration);
  }

  /** It is over. */
  leave(registration: Registration): void {
    this.waiting.delete(registration);
  }

  /** Keeps a place for the first that may pull. */
  begin(mayPull: (registration: Registration) => boolean): Registration | undefined {
    const next = [...this.waiting].find((each) => !this.pulling.has(each) && mayPull(each));
    if (next) this.pulling.add(next);
    return next;
  }

  /** It has pulled: to the end of the line if that may have brought a job, as there may be more. */
  end(registration: Registration, mayHaveJob: boolean): void {
    this.pulling.delete(registration);
    if (this.waiting.delete(registration) && mayHaveJob) this.waiting.add(registration);
  }
}
