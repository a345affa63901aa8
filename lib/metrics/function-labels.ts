/** The label of functions beyond the limit. */
export const OTHER = 'other';

/** Names of functions as labels, bounded: each value of a label is a time series that the server of the metrics keeps. */
export class FunctionLabels {
  private readonly known = new Set<string>();

  constructor(private readonly most: number) {}

  /** The function's name, or `other` if there are too many before it. */
  of(fn: string): string {
    if (this.known.has(fn)) return fn;
    if (this.known.size >= this.most) return OTHER;
    this.known.add(fn);
    return fn;
  }
}
