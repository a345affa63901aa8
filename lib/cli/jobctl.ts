#!/usr/bin/env node
import { Command, InvalidArgumentError, Option } from 'commander';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { clientTls, readJobctlConfig, type JobctlConfig } from '../jobd/config/jobctl-config.js';
import { COMMANDS, type Command as Described } from '../jobd/jobctl/commands.js';
import { promptPassword } from '../jobd/jobctl/password-prompt.js';
import { checkTargets, runCommand } from '../jobd/jobctl/run.js';
import { LOG_LEVELS, type LogLevel } from '../jobd/vocabulary/logging.js';
import { hashPassword } from '../jobd/protocol/authentication.js';
import { isShort, SHORT_PASSWORD } from '../jobd/protocol/exposure.js';
import { fail } from './run-program.js';
import { PACKAGE_VERSION } from '../package/package-version.embedded.js';

/** The request was answered, but some of the jobs it names failed. */
const EXIT_PARTIAL = 2;
const DEFAULT_CONFIG = join(homedir(), '.jobctl.conf');

interface Flags {
  readonly master?: true;
  readonly host?: string;
  readonly port?: number;
  readonly config?: string;
  readonly password?: true;
  readonly logLevel?: LogLevel;
  readonly tls?: true;
  readonly tlsCa?: string;
  readonly json?: true;
}

const program = new Command('jobctl')
  .description('Asks a jobd worker, or with --master a jobd-master.')
  .option('--master', 'ask a master')
  .option('--host <host>', 'host of the worker or master (default: localhost)')
  .option('--port <port>', 'port (default: 7080 for a worker, 7081 for a master)', toPort)
  .option('--config <file>', `path to the configuration (default: ${DEFAULT_CONFIG})`)
  .option('--password', 'ask for a password, or read it from stdin')
  .addOption(new Option('--log-level <level>', 'how much is logged to stderr').choices(LOG_LEVELS))
  .option('--tls', 'connect with TLS')
  .option('--tls-ca <file>', 'CA certificate that signed the server certificate, in PEM')
  .option('--json', 'print the reply as JSON')
  .version(PACKAGE_VERSION, '--version')
  .helpOption('--help')
  .showHelpAfterError('(see jobctl --help)');

for (const command of COMMANDS) add(command);
program
  .command('hash-password')
  .description('print a password as `password_hash` wants it')
  .action(async () => {
    const password = await promptPassword();
    if (isShort(password)) process.stderr.write(`jobctl: ${SHORT_PASSWORD}\n`);
    print(await hashPassword(password));
  });
program.parseAsync().catch(fail);

function add(described: Described): void {
  const command = program.command(described.usage).description(describe(described));
  if (described.takesAll) command.option('--all', 'all targets');
  command.allowExcessArguments(false).action(async () => {
    const args = command.args;
    if (described.takesAll) checkTargets(args, command.opts<{ all?: true }>().all === true);
    const flags = program.opts<Flags>();
    const { data, text, isPartial } = await runCommand(described, args, await configOf(flags));
    print(flags.json ? JSON.stringify(data) : text);
    process.exitCode = isPartial ? EXIT_PARTIAL : 0;
  });
}

function describe({ summary, worker, master }: Described): string {
  return worker && master ? summary : `${summary} (${worker ? 'worker' : 'master'})`;
}

/** Flags of the command line override the configuration file. */
async function configOf(flags: Flags): Promise<JobctlConfig> {
  const { tls, tlsCa, ...named } = flags;
  const file = readJobctlConfig(flags.config ?? DEFAULT_CONFIG, flags.config === undefined);
  return {
    ...file,
    ...named,
    master: flags.master ?? file.master,
    password: flags.password ? await promptPassword() : file.password,
    tls: tls || tlsCa !== undefined ? clientTls(tlsCa) : file.tls,
  };
}

function toPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('Expected a number from 1 to 65535.');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
