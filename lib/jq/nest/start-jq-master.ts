import type { LoggerService } from '@nestjs/common';
import { withPackages } from '../../package/optional-package.js';
import type { JqMaster } from '../master/listen-master.js';
import type { JqMasterOptions } from '../master/master-options.js';

/**
 * Starts a master. It serves at once; while Redis is not there requests get 503.
 *
 * @param logger Nest has one for the whole process: true leaves it as it is, false silences it
 * @throws InvalidOptionError, ConfigurationError, MissingPackageError, and what listening throws
 */
export async function startJqMaster(
  options: JqMasterOptions,
  logger: LoggerService | boolean = true,
): Promise<JqMaster> {
  // Workers and pushers don't need the packages that serve HTTP.
  const { listenMaster } = await withPackages(
    'A master',
    '@nestjs/platform-express undici',
    () => import('../master/listen-master.js'),
  );
  return listenMaster(options, logger);
}
