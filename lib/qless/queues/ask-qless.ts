import type { Arguments, Script } from '../../redis/script.js';

/** Runs a script at the server's own time. */
export type AskQless = <Rest extends Arguments, Reply>(
  script: Script<readonly [now: number | '', ...Rest], Reply>,
  ...args: Rest
) => Promise<Reply>;
