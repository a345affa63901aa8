import { z } from 'zod';
import { codecOf, defineJob, type Codec, type InputOf, type JobErrorInfo } from 'nestjs-gearmonkey';
import { same, type Size } from './definitions.js';

interface Person {
  readonly name: string;
  age?: number;
  tags: readonly string[];
  address: { street: string; position: [number, number] | null };
  extra?: Record<string, unknown>;
}
interface Tree {
  label: string;
  children: Tree[];
  parent?: Tree;
}
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
enum Color {
  Red,
  Green,
}
type Id = string & { readonly brand: 'id' };
class Order {
  constructor(
    readonly id: string,
    readonly lines: { article: string; count: number }[],
  ) {}
}
class Entity {
  id = '';
  load(): void {}
}

/** Plain data is what JSON keeps: none of these wants a codec. */
export const plain = [
  defineJob('nothing'),
  defineJob<Person, Size>('person'),
  defineJob<Tree, Tree[]>('tree'),
  defineJob<Json, Json>('json'),
  defineJob<{ color: Color; id: Id; any: unknown }>('branded'),
  defineJob<Order, void>('order'),
  defineJob<string | number | undefined, null>('choice'),
  defineJob<Partial<Person>, Pick<Person, 'name'>>('mapped'),
  defineJob<JobErrorInfo, object>('error'),
  defineJob<{ kind: 'a'; a: number } | { kind: 'b'; b: string }>('union', { timeout: '1s' }),
  defineJob<Record<string, any>, any>('anything'),
];

/** These do, and name one. */
export const kept = [
  defineJob<{ at: Date }>('date', { codec: 'msgpack' }),
  defineJob<{ file: Uint8Array }, Buffer>('bytes', { codec: 'msgpack', timeout: '1s' }),
  defineJob<Map<string, bigint>>('map', { codec: codecOf('json') }),
  defineJob('schema', { input: z.object({ at: z.date() }), codec: 'msgpack' }),
  defineJob('coerced', { input: z.object({ at: z.coerce.date() }) }),
  defineJob('parsed', { input: z.object({ at: z.iso.datetime().transform((text) => new Date(text)) }) }),
];

const dated = defineJob('dated', { input: z.object({ at: z.date() }), codec: 'msgpack' });
same<InputOf<typeof dated>, { at: Date }>();

// @ts-expect-error JSON makes text of a Date
defineJob<{ at: Date }>('x');
// @ts-expect-error also where options are given
defineJob<{ at: Date }>('x', { timeout: '1s' });
// @ts-expect-error also where JSON is named
defineJob<{ at: Date }>('x', { codec: 'json' });
// @ts-expect-error as an output
defineJob<Size, { done: Date | null }>('x');
// @ts-expect-error deep within
defineJob<{ list: { files: Uint8Array[] }[] }>('x');
// @ts-expect-error JSON has no bigint
defineJob<bigint>('x');
// @ts-expect-error JSON makes {} of a Map
defineJob<Map<string, string>>('x');
// @ts-expect-error nor has MessagePack any
defineJob<Map<string, string>>('x', { codec: 'msgpack' });
// @ts-expect-error methods don't travel
defineJob<Entity>('x');
// @ts-expect-error every job would fail
defineJob('x', { input: z.object({ at: z.date() }) });
// @ts-expect-error the client gets text
defineJob('x', { input: z.string(), output: z.date() });

/** Encodes and decodes at once: callers and workers don't wait for a codec. */
export const own: Codec = { name: 'own', encode: (value) => String(value), decode: (bytes) => bytes.length };
// @ts-expect-error an asynchronous codec
export const late: Codec = { name: 'late', encode: async (value) => String(value), decode: () => 1 };
