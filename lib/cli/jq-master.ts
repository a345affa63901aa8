#!/usr/bin/env node
import type { LoggerService } from '@nestjs/common';
import { messageOf } from '../job/errors.js';
import { startJqMaster } from '../jq/nest/start-jq-master.js';
import { optionsFromFlags } from './jq-master.flags.js';
import { runProgram } from './run-program.js';

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

function fail(error: unknown): never {
  complain(error);
  process.exit(1);
}

await runProgram(async () => {
  const master = await startJqMaster(optionsFromFlags(), LOGGER);
  process.stdout.write(`listening on ${master.url}\n`);
  complain(master.asksForTokens ? 'asks for tokens' : 'asks for no tokens: who reaches it may do everything');
  let isStopping = false;
  return {
    stop: () => {
      // What it was about to hear stays in Redis, and another master sees to it.
      if (isStopping) process.exit(1);
      isStopping = true;
      return master.close();
    },
  };
}, fail);
