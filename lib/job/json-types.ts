import type { Codec } from './codec.js';

type AnyFunction = (...args: never[]) => unknown;

/** How many levels of a type are checked: recursive types have no end. */
type Levels = readonly [1, 2, 3, 4, 5, 6];

/**
 * The parts of a type that JSON changes: bigint, symbols, functions, and objects with methods such as Date, Map, byte
 * arrays and class instances. `never` for plain data.
 */
export type NotJson<T, Left extends readonly unknown[] = Levels> = unknown extends T
  ? never
  : T extends string | number | boolean | null | undefined
    ? never
    : T extends bigint | symbol | AnyFunction
      ? T
      : Left extends readonly [unknown, ...infer Less]
        ? T extends readonly unknown[]
          ? NotJson<T[number], Less>
          : T extends object
            ? true extends HasMethod<T>
              ? T
              : { [K in keyof T]-?: NotJson<T[K], Less> }[keyof T]
            : never
        : never;

type HasMethod<T extends object> = {
  [K in keyof T]-?: unknown extends T[K]
    ? false
    : [Extract<T[K], AnyFunction>] extends [never]
      ? false
      : true;
}[keyof T];

/** The same of a job's input, output and chunks. */
type Lost<Input, Output, Chunk> = NotJson<Input> | NotJson<Output> | NotJson<Chunk>;

/** Requires a codec if JSON would change values of these types. */
export type CodecFor<Input, Output, Chunk = unknown> = [Lost<Input, Output, Chunk>] extends [never]
  ? unknown
  : [Exclude<Lost<Input, Output, Chunk>, Date | Uint8Array>] extends [never]
    ? { codec: 'msgpack' | Codec }
    : { codec: Codec };
