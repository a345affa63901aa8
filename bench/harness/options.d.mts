export interface Options {
  readonly suite: string;
  /** What the suite `before` compares with. */
  readonly commit: string | undefined;
  readonly only: readonly string[] | undefined;
  readonly quick: boolean;
  readonly json: boolean;
  readonly rounds: number;
  readonly scale: number;
  /** Where the chart goes, if one is drawn. */
  readonly svg: string | undefined;
}

export declare class UsageError extends Error {
  readonly code: 'USAGE';
}

export declare function readOptions(args: readonly string[]): Options;
