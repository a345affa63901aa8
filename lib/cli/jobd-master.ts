#!/usr/bin/env node
import { Command } from 'commander';
import { readMasterConfig } from '../jobd/config/master-config.js';
import { startMaster } from '../jobd/program/master-program.js';
import { openLog } from '../jobd/program/program.js';
import { runProgram } from './run-program.js';
import { PACKAGE_VERSION } from '../package/package-version.embedded.js';

const DEFAULT_CONFIG = '/etc/jobd-master.conf';

new Command('jobd-master')
  .description(
    'Keeps track of which jobd workers serve which targets, and forwards requests of clients to them.',
  )
  .option('--config <file>', 'path to the configuration', DEFAULT_CONFIG)
  .version(PACKAGE_VERSION, '--version')
  .helpOption('--help')
  .allowExcessArguments(false)
  .action(({ config: path }: { config: string }) =>
    runProgram(async () => {
      const config = readMasterConfig(path);
      return startMaster(config, openLog('jobd-master', config, path));
    }),
  )
  .parse();
