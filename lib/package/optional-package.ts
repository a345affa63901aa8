import { isNativeError } from 'node:util/types';
import { toCause } from '../job/cause.js';
import { GearMonkeyError, messageOf } from '../job/errors.js';

/** What was asked for needs a package that is not installed, or can't be loaded here. */
export class MissingPackageError extends GearMonkeyError {
  readonly code = 'MISSING_PACKAGE';

  constructor(
    what: string,
    /** Packages to install, as `npm install` takes them. */
    readonly install: string,
    cause: unknown,
  ) {
    super(`${what} could not be loaded: ${messageOf(cause)}. Run: npm install ${install}`, {
      cause: toCause(cause),
    });
  }
}

/**
 * Loads what needs packages that users may have or not.
 *
 * @param what needs them, for the message
 * @param install packages to install where it can't be loaded
 * @throws MissingPackageError
 */
export async function withPackages<T>(what: string, install: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw isMissing(error) ? new MissingPackageError(what, install, error) : error;
  }
}

/**
 * A package that is used where it is installed.
 *
 * @param wanted true where it must be there, false where it is not to be used
 * @throws MissingPackageError when it is wanted and not there
 */
export async function optionalPackage<T>(
  name: string,
  load: () => Promise<T>,
  wanted?: boolean,
): Promise<T | undefined> {
  if (wanted === false) return undefined;
  try {
    return await withPackages(`"${name}"`, name, load);
  } catch (error) {
    // One that is there and lacks another is broken: that is no reason to do without it silently.
    const isAbsent = error instanceof MissingPackageError && error.message.includes(`'${name}'`);
    if (wanted || !isAbsent) throw error;
    return undefined;
  }
}

const UNLOADABLE = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', 'ERR_DLOPEN_FAILED']);

function isMissing(error: unknown): boolean {
  return isNativeError(error) && 'code' in error && UNLOADABLE.has(String(error.code));
}
