import type { StreamKind, StreamPage } from '../../../job/streams.js';
import { scriptsIn } from '../../../redis/script.js';
import { LUA } from '../../core/wire/lua.embedded.js';
import type { Bytes } from '../../core/wire/scripts.js';

const defineScript = scriptsIn(LUA);

/** Returns whether the entries are written: false if another worker has the job. */
export const append = defineScript<
  [
    member: string,
    kind: StreamKind,
    sent: number,
    most: number,
    mostBytes: number,
    seconds: number,
    entries: readonly Bytes[],
  ],
  boolean
>('append', (reply) => reply === 1);

export const readStream = defineScript<[kind: StreamKind, from: number, most: number], StreamPage>(
  'read-stream',
  (reply) => {
    const [next, total, ...entries] = reply as [number, number, ...Buffer[]];
    return { next, total, entries };
  },
);
