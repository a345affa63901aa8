import type { Codec } from '../job/codec.js';

/** Leaves payloads as they are: what is shown of a job never depends on whether its payloads can be read. */
export const rawCodec: Codec = {
  name: 'raw',
  encode: (value) => String(value),
  decode: () => undefined,
};
