import { InvalidFunctionNameError } from '../../../job/errors.js';
import { keysOf, type KeysOf } from './protocol.js';

/** A name that is only a hash tag. */
const TAG_ALONE = /^\{([^{}]+)\}$/;

/** Writes `resize` as `{resize}`. A name with its own tag, such as `{media}:resize`, stays unchanged. */
export const taggedKeysOf: KeysOf = (fn) => {
  const [, bare] = TAG_ALONE.exec(fn) ?? [];
  if (bare !== undefined) {
    throw new InvalidFunctionNameError(
      `"${fn}" can't be a function name with \`hashTag: true\`, which adds the braces itself. Call it "${bare}".`,
    );
  }
  return keysOf(hasTag(fn) ? fn : `{${fn}}`);
};

/** Keys on a cluster without `hashTag`: the name needs a hash tag, which keeps its keys in one slot. */
export const ownTagKeysOf: KeysOf = (fn) => {
  if (hasTag(fn)) return keysOf(fn);
  throw new InvalidFunctionNameError(
    `"${fn}" can't be a function name on a Redis Cluster: its keys would be in many slots. ` +
      `Set \`hashTag: true\` in GearMonkeyModule.forRoot, or call it "{${fn}}".`,
  );
};

/** A valid function name has no braces except those of a hash tag. */
function hasTag(fn: string): boolean {
  return fn.includes('{');
}
