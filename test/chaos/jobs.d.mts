export declare const FAST: string;
export declare const SLOW: string;
export declare const BLOCK: string;
/** Run by workers of ours and by a plain one. */
export declare const SHARED: string;
/** What a hostile client writes. */
export declare const ODD: string;
/** Created and run by plain actors only. */
export declare const PLAIN: string;
/** Its jobs fail until an operator has retried them. */
export declare const MENDED: string;
/** Functions whose limits count jobs by their tenant. */
export declare const LIMITED: string;
export declare const RATED: string;
export declare const STRICT: string;
export declare const TENANTS: readonly string[];
/** Of some of the fast jobs. */
export declare const TAG: string;
/** Of a function without a limit there is none. */
export declare const LIMITS: Readonly<Record<string, ChaosLimit>>;
export interface ChaosLimit {
  readonly concurrency?: number;
  /** `per` in milliseconds. */
  readonly rate?: { readonly max: number; readonly per: number };
  readonly order?: 'strict';
}
/** Functions our workers run, and how many jobs of each at a time. */
export declare const HANDLED: Readonly<Record<string, number>>;
export declare function hashOf(text: string): string;
/** Tries that a job of this kind has. */
export declare const ATTEMPTS: Readonly<Record<string, number>>;
/** The steps of a job of that kind. */
export declare const STEPS: readonly string[];
/** Its jobs wait for each other, and for slow ones. */
export declare const FLOWN: string;
/** Its jobs wait for each other, and an operator ends, changes and follows them while their flows are being created. */
export declare const OPENED: string;
/** Its handler runs many jobs at once. */
export declare const BATCHED: string;
