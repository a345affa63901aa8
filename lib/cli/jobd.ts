#!/usr/bin/env node
import { Command } from 'commander';
import { readDaemonConfig } from '../jobd/config/daemon-config.js';
import { openLog } from '../jobd/program/program.js';
import { withPackages } from '../package/optional-package.js';
import { fail, runProgram } from './run-program.js';
import { PACKAGE_VERSION } from '../package/package-version.embedded.js';

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
  .option('--init', 'create the table if it does not exist, and exit')
  .option('--demo', 'run a few jobs from a temporary SQLite table, and exit')
  .version(PACKAGE_VERSION, '--version')
  .helpOption('--help')
  .allowExcessArguments(false)
  .action(({ config: path, init, demo }: Flags) => {
    if (demo) return runDemo().catch(fail);
    if (init) return runInit(path).catch(fail);
    return runProgram(async () => {
      const config = readDaemonConfig(path);
      const { startDaemon } = await withKysely(() => import('../jobd/program/daemon-program.js'));
      return startDaemon(config, openLog('jobd', config, path));
    });
  })
  .parse();

async function runDemo(): Promise<void> {
  const demo = await withKysely(() => import('../jobd/program/demo.js'));
  await demo.runDemo(print);
}

async function runInit(path: string): Promise<void> {
  const config = readDaemonConfig(path);
  const { initDatabase } = await withKysely(() => import('../jobd/storage/init-database.js'));
  const { database, table = 'jobs' } = config.daemon;
  const isCreated = await initDatabase(database, table, openLog('jobd', config, path));
  print(`The table '${table}' is ${isCreated ? 'created' : 'there already'}.`);
}

/** The packages that read and write rows are optional: only jobd needs them. @throws MissingPackageError */
function withKysely<T>(load: () => Promise<T>): Promise<T> {
  return withPackages(
    'What stores rows',
    'kysely libsql (SQLite and --demo), kysely mysql2, or kysely pg',
    load,
  );
}
