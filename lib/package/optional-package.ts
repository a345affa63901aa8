import { isNativeError } from 'node:util/types';
import { toCause } from '../job/cause.js';
import { GearMonkeyError, messageOf } from '../job/errors.js';

/** A feature needs a package that is not installed, or that can't be loaded on this machine. */
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
 * Loads code that needs optional packages.
 *
 * @param what the feature that needs them, for the message
 * @param install packages to install when loading fails
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
 * Loads an optional package.
 *
 * @param wanted true if it is required, false if it must not be used; otherwise it is used if it is installed
 * @throws MissingPackageError if it is required and not installed
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
    // An installed package whose own dependency is missing is broken: that is an error, never silently ignored.
    const isAbsent = error instanceof MissingPackageError && error.message.includes(`'${name}'`);
    if (wanted || !isAbsent) throw error;
    return undefined;
  }
}

const UNLOADABLE = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', 'ERR_DLOPEN_FAILED']);

function isMissing(error: unknown): boolean {
  return isNativeError(error) && 'code' in error && UNLOADABLE.has(String(error.code));
}
