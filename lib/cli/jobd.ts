#!/usr/bin/env node
import { Command } from 'commander';
import { readDaemonConfig } from '../jobd/config/daemon-config.js';
import { startDaemon } from '../jobd/program/daemon-program.js';
import { runDemo } from '../jobd/program/demo.js';
import { openLog } from '../jobd/program/program.js';
import { initDatabase } from '../jobd/storage/init-database.js';
import { fail, runDaemon } from './run-daemon.js';
import { packageVersion } from './version.js';

const DEFAULT_CONFIG = '/etc/jobd.conf';
const print = (text: string) => void process.stdout.write(`${text}\n`);

interface Flags {
  readonly config: string;
  readonly init?: true;
  readonly demo?: true;
}

new Command('jobd')
  .description('Runs the jobs of a database table, each as a process.')
  .option('--config <file>', 'path to the configuration', DEFAULT_CONFIG)
  .option('--init', 'create the table where it is missing, and end')
  .option('--demo', 'run some jobs of a table in a file of its own, and end')
  .version(packageVersion(), '--version')
  .helpOption('--help')
  .allowExcessArguments(false)
  .action(({ config: path, init, demo }: Flags) => {
    if (demo) return runDemo(print).catch(fail);
    if (init) return runInit(path).catch(fail);
    return runDaemon(async () => {
      const config = readDaemonConfig(path);
      return startDaemon(config, openLog('jobd', config));
    });
  })
  .parse();

async function runInit(path: string): Promise<void> {
  const config = readDaemonConfig(path);
  const { database, table = 'jobs' } = config.daemon;
  const isCreated = await initDatabase(database, table, openLog('jobd', config));
  print(`The table '${table}' is ${isCreated ? 'created' : 'there already'}.`);
}
