import { InvalidFunctionNameError } from '../../job/errors.js';
import { keysOf, type KeysOf } from './protocol.js';

/** A hash tag and nothing else. */
const TAG_ALONE = /^\{([^{}]+)\}$/;

/** `resize` is written as `{resize}`; a name that has a tag of its own, such as `{media}:resize`, as it is. */
export const taggedKeysOf: KeysOf = (fn) => {
  const [, bare] = TAG_ALONE.exec(fn) ?? [];
  if (bare !== undefined) {
    throw new InvalidFunctionNameError(
      `"${fn}" can't be a function name with \`hashTag: true\`, which writes the braces: call it "${bare}".`,
    );
  }
  return keysOf(hasTag(fn) ? fn : `{${fn}}`);
};

/** For a cluster without `hashTag`: only names with a tag of their own keep their keys in one slot. */
export const ownTagKeysOf: KeysOf = (fn) => {
  if (hasTag(fn)) return keysOf(fn);
  throw new InvalidFunctionNameError(
    `"${fn}" can't be a function name on a Redis Cluster: its keys would be in many slots. ` +
      `Set \`hashTag: true\` in GearMonkeyModule.forRoot, or call it "{${fn}}".`,
  );
};

/** Function names have no other braces. */
function hasTag(fn: string): boolean {
  return fn.includes('{');
}
