import { NestFactory } from '@nestjs/core';
import type { LoggerService } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { serverTlsOptions } from '../../net/tls.js';
import { urlHost } from '../../net/url-host.js';
import { defined } from '../../job/defined.js';
import { MasterModule } from './master.module.js';
import { hasTokens, masterSettings, type JqMasterOptions } from './master-options.js';
import { serveDocs } from './openapi/docs-page.js';
import { messageAdapter } from './message.adapter.js';

/** How long replies may still take when the master closes. */
const DRAIN_MS = 5000;

/** A running master. */
export interface JqMaster {
  /** Where it listens: `http://HOST:PORT`, or `https:`. */
  readonly url: string;
  /** Whether it has tokens. Without them, anyone who can connect may do everything. */
  readonly asksForTokens: boolean;
  /** Hands out no more, ends long polls, waits for pushes and replies, and closes. Its state stays in Redis. */
  close(): Promise<void>;
}

/**
 * Starts a master. It serves at once; while Redis is not there requests get 503.
 *
 * @throws InvalidOptionError, ConfigurationError, and what listening throws
 */
export async function listenMaster(
  options: JqMasterOptions,
  logger: LoggerService | boolean = false,
): Promise<JqMaster> {
  const settings = masterSettings(options);
  const { host, port, tls, docs } = settings;
  const adapter = await messageAdapter(settings);
  const app = await NestFactory.create<NestExpressApplication>(
    MasterModule.forRoot(options),
    adapter,
    defined({
      bodyParser: false,
      // Nest has one logger per process: true leaves it unchanged.
      logger: logger === true ? undefined : logger,
      abortOnError: false,
      httpsOptions: tls && serverTlsOptions(tls),
    }),
  );
  app.disable('x-powered-by');
  app.setLocal('maxDepth', settings.maxDepth);
  app.setLocal('maxBodyBytes', settings.maxBodyBytes);
  await serveDocs(app, docs);
  await app.listen(port, host).catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  const server = app.getHttpServer();
  let closed: Promise<void> | undefined;
  return {
    asksForTokens: hasTokens(settings.tokens),
    url: urlOf(tls ? 'https' : 'http', host, server.address() as AddressInfo),
    close: () => (closed ??= close(app)),
  };
}

async function close(app: NestExpressApplication): Promise<void> {
  const late = setTimeout(() => app.getHttpServer().closeAllConnections(), DRAIN_MS);
  await app.close().finally(() => clearTimeout(late));
}

function urlOf(scheme: string, host: string, { port }: AddressInfo): string {
  return `${scheme}://${urlHost(host)}:${port}`;
}
