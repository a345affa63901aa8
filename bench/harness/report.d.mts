/** Which figure of several rounds stands for all. */
export type Compared = 'median' | 'min';

export interface Row {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
  readonly better: 'more' | 'less';
  readonly targets?: Readonly<Record<string, number>>;
  readonly target?: number;
}

export interface Contender {
  readonly key: string;
  readonly title: string;
  readonly version: string;
  readonly options: string;
}

export interface Judged {
  readonly value: number;
  readonly target?: number;
  readonly met?: boolean;
}

export interface ReportRow extends Omit<Row, 'target' | 'targets'> {
  readonly values: Readonly<
    Record<string, { median: number; min: number; max: number; rounds: readonly number[] } | null>
  >;
  readonly ratios: Readonly<Record<string, Judged>>;
  readonly own?: Judged;
}

export interface Report {
  readonly suite: string;
  readonly title: string;
  readonly host: {
    readonly cpu: string;
    readonly cores: number;
    readonly memoryGiB: number;
    readonly system: string;
    readonly node: string;
    readonly loadAverage: readonly number[];
  };
  readonly facts: Readonly<Record<string, string>>;
  readonly rounds: number;
  readonly scale: number;
  readonly contenders: readonly Contender[];
  readonly compared: Compared;
  readonly sections: readonly {
    readonly name: string;
    readonly title: string;
    readonly rows: readonly ReportRow[];
  }[];
  readonly targets: { readonly met: number; readonly of: number };
}

export declare function summarize(input: {
  readonly suite: {
    readonly name: string;
    readonly title: string;
    readonly contenders: readonly Contender[];
    /** @default 'median' */
    readonly compared?: Compared;
  };
  readonly measurements: readonly {
    readonly name: string;
    readonly title: string;
    readonly rows: readonly Row[];
  }[];
  /** By measurement, then by contender: the figures of each round by the keys of the rows. */
  readonly results: ReadonlyMap<
    string,
    ReadonlyMap<string, readonly Readonly<Record<string, number | null>>[]>
  >;
  readonly host: Report['host'];
  readonly facts: readonly (readonly [label: string, text: string])[];
  readonly options: { readonly rounds: number; readonly scale: number };
}): Report;
