import { z } from 'zod';
import { defineJob, type InputOf, type OutputOf, type ReceivedOf, type ReturnedOf } from 'nestjs-gearmonkey';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only when the two types are the same. */
export const same = <A, B>(..._same: Equal<A, B> extends true ? [] : ['the types differ']): void => undefined;

export interface Size {
  width: number;
  height: number;
}

export const resize = defineJob<Size, string>('resize');
same<InputOf<typeof resize>, Size>();
same<OutputOf<typeof resize>, string>();
same<ReceivedOf<typeof resize>, Size>();
same<ReturnedOf<typeof resize>, string>();

/** A schema that transforms: clients pass text, handlers get a number; and the other way round. */
export const measure = defineJob('measure', {
  input: z.object({ text: z.string().transform((text) => text.length) }),
  output: z.number().transform((size) => `${size} cm`),
});
same<InputOf<typeof measure>, { text: string }>();
same<ReceivedOf<typeof measure>, { text: number }>();
same<ReturnedOf<typeof measure>, number>();
same<OutputOf<typeof measure>, string>();

export const mail = defineJob('mail', { input: z.object({ to: z.email() }) });
same<InputOf<typeof mail>, { to: string }>();
same<OutputOf<typeof mail>, unknown>();

/** A unique key is made from what clients pass. */
export const once = defineJob('once', {
  input: z.object({ text: z.string().transform((text) => text.length) }),
  unique: { key: ({ text }) => text.toUpperCase(), debounce: '1s', maxWait: '1m' },
});
same<InputOf<typeof once>, { text: string }>();
same<ReceivedOf<typeof once>, { text: number }>();
defineJob<Size>('once', { unique: { key: ({ width }) => `${width}`, while: 'waiting' } });
// @ts-expect-error no such property
defineJob<Size>('once', { unique: { key: ({ depth }) => `${depth}` } });

same<InputOf<'resize'>, unknown>();
same<OutputOf<'resize'>, unknown>();

// @ts-expect-error a codec there is none of
defineJob('bad', { codec: 'xml' });
// @ts-expect-error no schema
defineJob('bad', { input: 'string' });
// @ts-expect-error not a string
defineJob(7);
// @ts-expect-error the types differ
same<InputOf<typeof resize>, string>();
