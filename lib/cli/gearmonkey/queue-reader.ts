import { Option, type Command } from 'commander';
import { defined } from '../../job/defined.js';
import { ConfigurationError } from '../../job/errors.js';
import type { QueueOverview } from '../../job/job-views.js';
import { redisUrl, type ConnectionFlags, type Session } from './session.js';

/** Flags of a command that shows queues: of GearMonkey, or of another system. */
export interface QueueFlags extends ConnectionFlags {
  readonly qless?: string | true;
  readonly jq?: string | true;
  readonly jobd?: string | true;
  readonly table?: string;
}

/** Reads the queues of one system. */
export interface QueueReader {
  /** Without credentials. */
  readonly address: string;
  overview(): Promise<readonly QueueOverview[]>;
  close(): void | Promise<void>;
}

const SYSTEMS = ['qless', 'jq', 'jobd'] as const;

export function withSystems(command: Command): Command {
  return command
    .addOption(new Option('--qless [prefix]', 'the queues of qless in this Redis (default prefix: ql:)'))
    .addOption(
      new Option(
        '--jq [master]',
        'the jobs of the JQ master with this URL, or of JQ_MASTER; JQ_TOKEN is its token',
      ),
    )
    .addOption(new Option('--jobd [database]', 'the targets of jobd in this database, or in JOBD_DATABASE'))
    .addOption(new Option('--table <table>', 'the table of jobs of jobd').default('jobs'));
}

/** Whether it needs no Redis. */
export function isElsewhere({ qless, jq, jobd }: QueueFlags): boolean {
  return (jq ?? jobd ?? qless) !== undefined;
}

/** @throws ConfigurationError */
export async function openQueues(session: Session, flags: QueueFlags): Promise<QueueReader> {
  const chosen = SYSTEMS.filter((system) => flags[system] !== undefined);
  if (chosen.length > 1)
    throw new ConfigurationError(`Choose one of ${SYSTEMS.map((name) => `--${name}`).join(', ')}.`);
  const { client, connection } = session;
  if (flags.qless !== undefined) return openQless(flags);
  if (flags.jq !== undefined) return openJq(valueOf('--jq', flags.jq, 'JQ_MASTER'));
  if (flags.jobd !== undefined) return openJobd(valueOf('--jobd', flags.jobd, 'JOBD_DATABASE'), flags.table);
  return { address: connection.address, overview: () => client.overview(), close: () => undefined };
}

// Each system is loaded when it is asked for: the others' packages need not be installed.
async function openQless(flags: QueueFlags): Promise<QueueReader> {
  const { QlessClient } = await import('../../qless/client/qless-client.js');
  const prefix = flags.qless === true ? undefined : flags.qless;
  const client = new QlessClient({ connection: redisUrl(flags), ...defined({ prefix }) });
  const { server = '' } = await client.ping();
  return { address: `qless ${server}`, overview: () => client.overview(), close: () => client.close() };
}

async function openJq(master: string): Promise<QueueReader> {
  const { JqClient } = await import('../../jq/client/jq-client.js');
  const client = new JqClient({ master, ...defined({ token: process.env['JQ_TOKEN'] }) });
  return { address: `jq ${master}`, overview: () => client.overview(), close: () => client.close() };
}

async function openJobd(database: string, table = 'jobs'): Promise<QueueReader> {
  const { ClientTable } = await import('../../jobd/nest/client-table.js');
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const rows = new ClientTable(database, table, silent);
  return { address: `jobd ${rows.address}`, overview: () => rows.overview(), close: () => rows.close() };
}

function valueOf(flag: string, given: string | true, variable: string): string {
  const value = given === true ? process.env[variable] : given;
  if (value !== undefined && value !== '') return value;
  throw new ConfigurationError(`Pass an address, ${flag} URL, or set ${variable}.`);
}
