import 'reflect-metadata';
import { ConsoleLogger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { basicAuth } from '../../dashboard/basic-auth.js';
import { DashboardModule } from '../../dashboard/dashboard.module.js';
import { DashboardUrl } from '../../dashboard/dashboard-url.js';
import { isLoopback } from '../../dashboard/request-facts.js';
import { ConfigurationError } from '../../job/errors.js';
import { GearMonkeyModule } from '../../nest/gearmonkey.module.js';
import { wholeOf } from './input.js';
import type { Context, Flags } from './perform.js';
import { redisUrl } from './session.js';

/** Flags of the command. */
export interface DashboardFlags extends Flags {
  readonly port: string;
  readonly host: string;
  readonly readOnly?: true;
  readonly openToNetwork?: true;
}

const AUTH = 'GEARMONKEY_DASHBOARD_AUTH';

/** Warnings, errors, and what users do: not how Nest starts. */
class AuditLog extends ConsoleLogger {
  constructor() {
    super({ logLevels: ['log', 'warn', 'error', 'fatal'] });
  }

  override log(message: unknown, ...context: unknown[]): void {
    if (context.at(-1) === 'Dashboard' && String(message).startsWith('audit '))
      super.log(message, ...context);
  }
}

/** Serves the dashboard until the signal. @throws ConfigurationError, DashboardOpenError */
export async function serve({ out, signal }: Context, _args: unknown, flags: DashboardFlags): Promise<void> {
  const { host, readOnly = false, hashTag = false, codec } = flags;
  const port = wholeOf('--port', flags.port) ?? 0;
  const auth = authOf(flags);
  if (!flags.openToNetwork && !isOwn(host))
    throw new ConfigurationError('Others could open the dashboard. Pass --open-to-network if they may.');
  const jobs = { connection: redisUrl(flags), hashTag, workers: false, ...(codec && { codec }) };
  const root = {
    module: class Dashboard {},
    imports: [
      GearMonkeyModule.forRoot(jobs),
      DashboardModule.forRoot({ path: '/', readOnly, ...(auth && { auth }) }),
    ],
  };
  // A browser may keep a connection that it has not used yet; Node's server would wait for it.
  const closing = { forceCloseConnections: true };
  const app = await NestFactory.create(root, { logger: new AuditLog(), abortOnError: false, ...closing });
  try {
    await app.listen(port, host);
    const url = app.get(DashboardUrl, { strict: false }).url ?? (await app.getUrl()).replace(/\/?$/, '/');
    if (!isOwn(host))
      out.hint(
        'Names and passwords go over plain HTTP, which others on the way can read: put a proxy with TLS before it.',
      );
    out.show({ url }, `The dashboard is at ${url}`);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  } finally {
    await app.close();
  }
}

/** @throws ConfigurationError */
function authOf({ host, openToNetwork }: DashboardFlags) {
  const given = process.env[AUTH];
  const colon = given?.indexOf(':') ?? -1;
  if (given !== undefined && colon > 0)
    return basicAuth({ users: { [given.slice(0, colon)]: { password: given.slice(colon + 1) } } });
  if (given !== undefined) throw new ConfigurationError(`$${AUTH} must be NAME:PASSWORD.`);
  if (openToNetwork || !isOwn(host))
    throw new ConfigurationError(
      `Others could open the dashboard. Set $${AUTH} to NAME:PASSWORD, and pass --open-to-network.`,
    );
  return undefined;
}

function isOwn(host: string): boolean {
  return host === 'localhost' || isLoopback(host);
}
