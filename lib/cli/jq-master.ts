#!/usr/bin/env node
import type { LoggerService } from '@nestjs/common';
import { messageOf } from '../job/errors.js';
import { startJqMaster } from '../jq/nest/start-jq-master.js';
import { optionsFromFlags } from './jq-master.flags.js';

/** stdout holds one line; all else goes to stderr. */
const LOGGER: LoggerService = {
  log: () => undefined,
  warn: complain,
  error: complain,
  fatal: complain,
};

function complain(message: unknown): void {
  process.stderr.write(`jq-master: ${messageOf(message)}\n`);
}

async function main(): Promise<void> {
  // Whoever read what it says may leave, and a disk be full; that ends no master.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const master = await startJqMaster(optionsFromFlags(), LOGGER);
  process.stdout.write(`listening on ${master.url}\n`);
  complain(master.asksForTokens ? 'asks for tokens' : 'asks for no tokens: who reaches it may do everything');
  const stop = () => {
    master.close().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
}

function fail(error: unknown): never {
  complain(error);
  process.exit(1);
}

main().catch(fail);
