import { isNativeError } from 'node:util/types';
import { toCause } from '../job/cause.js';
import { reasonOf } from '../job/error-info.js';
import { GearMonkeyError } from '../job/errors.js';

/** A feature needs a package that is not installed, or that can't be loaded on this machine. */
export class MissingPackageError extends GearMonkeyError {
  readonly code = 'MISSING_PACKAGE';

  constructor(
    what: string,
    /** Packages to install, as `npm install` takes them. */
    readonly install: string,
    cause: unknown,
  ) {
    super(`${what} could not be loaded: ${reasonOf(cause)}. Run: npm install ${install}`, {
      cause: toCause(cause),
    });
  }
}

/**
 * What to throw when an import failed: MissingPackageError if a package is not installed, otherwise the error itself.
 * For the `catch` around `await import('…')`: bundlers accept a missing package only if its import is inside a `try`.
 *
 * @param what the feature that needs the package, for the message
 * @param install packages to install, as `npm install` takes them
 */
export function missingPackage(error: unknown, what: string, install: string): unknown {
  return isMissing(error) ? new MissingPackageError(what, install, error) : error;
}

/** Loads a module of this package that needs optional packages. @throws MissingPackageError */
export async function withPackages<T>(what: string, install: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw missingPackage(error, what, install);
  }
}

/**
 * For the `catch` around the import of an optional package. Returns undefined if the package is not installed and not required.
 *
 * @throws MissingPackageError if it is required and not installed, and all other errors
 */
export function doWithout(name: string, error: unknown, required = false): undefined {
  const missing = missingPackage(error, `"${name}"`, name);
  // An installed package whose own dependency is missing is broken: that is an error, never silently ignored.
  const isAbsent = missing instanceof MissingPackageError && missing.message.includes(`'${name}'`);
  if (required || !isAbsent) throw missing;
  return undefined;
}

const UNLOADABLE = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', 'ERR_DLOPEN_FAILED']);

/** With hooks of Node's loader, as those of tsx, it is an error of this realm that is not native; in Jest one of another realm. */
function isMissing(error: unknown): boolean {
  const isError = error instanceof Error || isNativeError(error);
  return isError && 'code' in error && UNLOADABLE.has(String(error.code));
}
