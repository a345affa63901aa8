#!/usr/bin/env node
import type { LoggerService } from '@nestjs/common';
import { messageOf } from '../job/errors.js';
import { startJqMaster } from '../jq/nest/start-jq-master.js';
import { optionsFromFlags } from './jq-master.flags.js';
import { runProgram } from './run-program.js';

/** Only the address is printed to stdout; logs go to stderr. */
const LOGGER: LoggerService = {
  log: () => undefined,
  warn: complain,
  error: complain,
  fatal: complain,
};

function complain(message: unknown): void {
  process.stderr.write(`jq-master: ${messageOf(message)}\n`);
}

function fail(error: unknown): never {
  complain(error);
  process.exit(1);
}

await runProgram(async () => {
  const master = await startJqMaster(optionsFromFlags(), LOGGER);
  process.stdout.write(`listening on ${master.url}\n`);
  complain(master.asksForTokens ? 'asks for tokens' : 'asks for no tokens: every client may do everything');
  let isStopping = false;
  return {
    stop: () => {
      // Requests that were not answered yet stay in Redis, where another master finds them.
      if (isStopping) process.exit(1);
      isStopping = true;
      return master.close();
    },
  };
}, fail);
