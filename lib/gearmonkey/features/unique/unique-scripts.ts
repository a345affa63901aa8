import { scriptsIn } from '../../../redis/script.js';
import { LUA } from '../../core/wire/lua.embedded.js';
import type { Bytes, Now, Times } from '../../core/wire/scripts.js';

const defineScript = scriptsIn(LUA);

/**
 * As `enqueue`, for jobs of which some are unique: four values each. A debounce is a span of `times`.
 * Returns for each job the id of the new one, or "id:mark" of the job that stands for it.
 */
export const unique = defineScript<
  [
    created: number,
    call: number,
    memorySeconds: number,
    mark: number,
    times: Times,
    clock: Now,
    jobs: Bytes[],
  ],
  string[]
>('unique', (reply) => (reply as Buffer[]).map(String));
