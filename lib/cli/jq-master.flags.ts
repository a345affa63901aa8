import { Command, InvalidArgumentError, Option } from 'commander';
import { readFileSync } from 'node:fs';
import { defined } from '../job/defined.js';
import { ConfigurationError, messageOf } from '../job/errors.js';
import type { EngineOptions, JqMasterOptions } from '../jq/index.js';
import { PACKAGE_VERSION } from '../package/package-version.embedded.js';

/** Limits, with their defaults. All masters on one Redis should have the same. */
const COUNTS = {
  maxPushes: 'pushes to one worker without an answer, 64',
  lostAfter: 'failed pushes and timed-out jobs in a row that make a worker lost, 3',
  maxLosses: 'how often a job is queued again because its worker was lost, 3',
  maxQueued: 'how many jobs may wait, 1000000',
  maxQueuedBytes: 'total size of queued arguments of 1 KiB and more, 4 GiB',
  maxKeys: 'how many Idempotency-Keys are remembered, 10000000',
  maxWorkers: 'how many workers there may be, 10000',
  maxWorkersPerClient:
    'how many workers one client (a token, or an address if there are no tokens) may register; half of all',
  maxJobsPerClient: "largest sum of `max_jobs` of one client's workers; no limit",
  maxConstraints: 'how many constraints there may be, 1000',
} as const satisfies Partial<Record<keyof EngineOptions, string>>;

type Count = keyof typeof COUNTS;

/** Time spans, such as `30s` or `5m`, with their defaults. */
const TIMES = {
  backoff: 'first wait before a retry, 1s; doubles with each failure',
  backoffCap: 'longest wait before a retry, 5m',
  grace: "how long the master waits for a report after a job's timeout, 2s",
  pushTimeout: 'how long a push may take, 5s',
  suspect: 'how long a worker gets no jobs after a push failed, 1s; doubles each time',
  suspectCap: 'longest time a worker gets no jobs, 60s',
  silence: 'how long a worker may be silent before it counts as lost, 60s',
  forgetWorker: 'how long a lost worker is remembered, 1h',
  forgetMissingName: "how long a worker's 404 for a name is remembered, 60s",
  unreadResult: 'how long an unread result is kept, 1h',
  readResult: 'how long a result is kept after it was read, 30s',
  tombstone: 'how long an ended job is remembered, 25h',
  forgetKey: 'how long an Idempotency-Key is remembered, 24h',
} as const satisfies Record<Exclude<keyof EngineOptions, Count>, string>;

type Time = keyof typeof TIMES;

interface Flags extends Partial<Record<Time, string>>, Partial<Record<Count, number>> {
  readonly redis: string;
  readonly prefix?: string;
  readonly host: string;
  readonly port: number;
  readonly pusherToken: readonly string[];
  readonly workerToken: readonly string[];
  readonly adminToken: readonly string[];
  readonly metricsToken: readonly string[];
  readonly tlsCert?: Buffer;
  readonly tlsKey?: Buffer;
  readonly tlsClientCa?: Buffer;
  readonly callbackAllow?: readonly string[];
  readonly callbackSecret?: string;
  readonly callbackCa?: Buffer;
  readonly callbackCert?: Buffer;
  readonly callbackKey?: Buffer;
  readonly allowOpen?: true;
  readonly hosts?: readonly string[];
  readonly maxConnections?: number;
  readonly maxPollsPerClient?: number;
  readonly requestTimeout?: string;
  readonly maxBodyBytes?: number;
  readonly maxDepth?: number;
  readonly docs: boolean;
  readonly metrics: boolean;
}

const PROGRAM = new Command('jq-master')
  .version(PACKAGE_VERSION)
  .description('The JQ master: accepts jobs over HTTP, keeps them in Redis, and passes them to workers.')
  .addOption(
    option('--redis <url>', 'the Redis server that keeps all state').default('redis://127.0.0.1:6379'),
  )
  .addOption(option('--prefix <text>', 'prefix of all keys in Redis'))
  .addOption(option('--host <address>', 'address to listen on').default('127.0.0.1'))
  .addOption(
    option('--port <number>', 'port to listen on; 0 picks a free one').default(8080).argParser(whole),
  )
  .addOption(tokens('pusher', 'enqueue, read and cancel jobs'))
  .addOption(tokens('worker', 'run jobs'))
  .addOption(tokens('admin', 'do everything'))
  .addOption(tokens('metrics', 'read /metrics'))
  .addOption(file('--tls-cert <file>', 'certificate: serves HTTPS'))
  .addOption(file('--tls-key <file>', 'its key'))
  .addOption(file('--tls-client-ca <file>', 'serve only clients with a certificate of this CA'))
  .addOption(
    option(
      '--callback-allow <hosts>',
      'hosts that jobs may be pushed to: names and addresses, separated by commas',
    ).argParser(list),
  )
  .addOption(option('--callback-secret <text>', 'signs pushes'))
  .addOption(file('--callback-ca <file>', 'CA of workers that serve HTTPS'))
  .addOption(file('--callback-cert <file>', 'client certificate for workers that ask for one'))
  .addOption(file('--callback-key <file>', 'its key'))
  .addOption(
    new Option(
      '--allow-open',
      'allow other machines to connect although no tokens are set (env: JQ_ALLOW_OPEN=on)',
    ),
  )
  .addOption(
    option(
      '--hosts <names>',
      'if no tokens are set: host names that clients use, separated by commas',
    ).argParser(list),
  )
  .addOption(option('--max-connections <number>', 'most open connections, 10000').argParser(whole))
  .addOption(
    option(
      '--max-polls-per-client <number>',
      'most waiting pulls and polls of one token or address',
    ).argParser(whole),
  )
  .addOption(option('--request-timeout <time>', 'how long a client may take to send a request, 30s'))
  .addOption(option('--max-body-bytes <number>', 'longest body').argParser(whole))
  .addOption(option('--max-depth <number>', 'deepest nesting of a body').argParser(whole))
  .addOption(new Option('--no-docs', 'serve no documentation at /docs (env: JQ_DOCS=off)'))
  .addOption(new Option('--no-metrics', 'no /metrics (env: JQ_METRICS=off)'));

for (const [name, text] of Object.entries(TIMES)) PROGRAM.addOption(option(`--${dashed(name)} <time>`, text));
for (const [name, text] of Object.entries(COUNTS)) {
  PROGRAM.addOption(option(`--${dashed(name)} <number>`, text).argParser(whole));
}

/** Names of all flags, without the dashes. */
export const FLAGS: readonly string[] = PROGRAM.options.map(({ long = '' }) => long.slice(2));

/** Options from the command line and the environment. Exits when they can't be parsed. @throws ConfigurationError */
export function optionsFromFlags(args: readonly string[] = process.argv.slice(2)): JqMasterOptions {
  const flags = PROGRAM.parse(args, { from: 'user' }).opts<Flags>();
  const { redis, prefix, host, port, maxBodyBytes, maxDepth, callbackAllow, callbackSecret } = flags;
  return defined({
    connection: redis,
    host,
    port,
    prefix,
    tokens: {
      pusher: flags.pusherToken,
      worker: flags.workerToken,
      admin: flags.adminToken,
      metrics: flags.metricsToken,
    },
    tls: tlsOf(flags),
    callbacks: defined({
      allow: callbackAllow,
      secret: callbackSecret,
      ca: flags.callbackCa || undefined,
      cert: flags.callbackCert || undefined,
      key: flags.callbackKey || undefined,
    }),
    allowOpen: flags.allowOpen || process.env['JQ_ALLOW_OPEN'] === 'on' || undefined,
    hosts: flags.hosts,
    maxConnections: flags.maxConnections,
    maxPollsPerClient: flags.maxPollsPerClient,
    requestTimeout: flags.requestTimeout,
    maxBodyBytes,
    maxDepth,
    ...engineOptionsOf(flags),
    docs: flags.docs && process.env['JQ_DOCS'] !== 'off' ? undefined : false,
    metrics: flags.metrics && process.env['JQ_METRICS'] !== 'off' ? undefined : false,
  });
}

function engineOptionsOf(flags: Flags): EngineOptions {
  const names = [...Object.keys(TIMES), ...Object.keys(COUNTS)] as (Time | Count)[];
  return defined(Object.fromEntries(names.map((name) => [name, flags[name]])));
}

function tlsOf({ tlsCert: cert, tlsKey: key, tlsClientCa }: Flags): JqMasterOptions['tls'] {
  if (cert && key) return defined({ cert, key, clientCa: tlsClientCa || undefined });
  if (!cert && !key && !tlsClientCa) return undefined;
  throw new ConfigurationError('HTTPS needs both --tls-cert and --tls-key.');
}

/** A flag that the environment can set too: `--max-depth` is JQ_MAX_DEPTH. */
function option(flags: string, description: string): Option {
  const made = new Option(flags, description);
  return made.env(`JQ_${made.name().toUpperCase().replaceAll('-', '_')}`);
}

function dashed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function tokens(role: string, may: string): Option {
  return option(`--${role}-token <tokens>`, `tokens that may ${may}, separated by commas`)
    .default([])
    .argParser(list);
}

/** Read while flags are parsed, so that an unreadable file is an error at the start. */
function file(flags: string, description: string): Option {
  return option(flags, description).argParser((path) => {
    try {
      return readFileSync(path);
    } catch (error) {
      throw new InvalidArgumentError(messageOf(error));
    }
  });
}

function list(text: string): string[] {
  return text.split(',').map((entry) => entry.trim());
}

function whole(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number.');
}
