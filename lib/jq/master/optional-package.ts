import { isNativeError } from 'node:util/types';
import { ConfigurationError } from '../../job/errors.js';

/**
 * A package that users may have or not. Without `wanted` it is taken where it is installed.
 *
 * @throws ConfigurationError when it is wanted and not installed
 */
export async function optionalPackage<T>(
  name: string,
  load: () => Promise<T>,
  wanted: boolean | undefined,
): Promise<T | undefined> {
  if (wanted === false) return undefined;
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error, name)) throw error;
    if (wanted) throw new ConfigurationError(`"${name}" is not installed. Add it: npm install ${name}`);
    return undefined;
  }
}

function isMissing(error: unknown, name: string): boolean {
  if (!isNativeError(error) || !('code' in error)) return false;
  const isAbsent = error.code === 'ERR_MODULE_NOT_FOUND' || error.code === 'MODULE_NOT_FOUND';
  return isAbsent && error.message.includes(name);
}
