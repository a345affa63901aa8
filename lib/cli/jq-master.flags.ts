import { Command, InvalidArgumentError, Option } from 'commander';
import { readFileSync } from 'node:fs';
import { ConfigurationError, messageOf } from '../job/errors.js';
import type { JqMasterOptions } from '../jq/index.js';

interface Flags {
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
  readonly maxBodyBytes?: number;
  readonly maxDepth?: number;
  readonly maxQueued?: number;
  readonly docs: boolean;
  readonly metrics: boolean;
}

const PROGRAM = new Command('jq-master')
  .description('The JQ master: takes jobs over HTTP, keeps them in Redis, and hands them to workers.')
  .addOption(option('--redis <url>', 'where all state is kept').default('redis://127.0.0.1:6379'))
  .addOption(option('--prefix <text>', 'what all keys in Redis begin with'))
  .addOption(option('--host <address>', 'address to listen on').default('127.0.0.1'))
  .addOption(option('--port <number>', '0 takes a free one').default(8080).argParser(whole))
  .addOption(tokens('pusher', 'enqueue, read and cancel jobs'))
  .addOption(tokens('worker', 'run jobs'))
  .addOption(tokens('admin', 'do everything'))
  .addOption(tokens('metrics', 'read /metrics'))
  .addOption(file('--tls-cert <file>', 'certificate: serves HTTPS'))
  .addOption(file('--tls-key <file>', 'its key'))
  .addOption(file('--tls-client-ca <file>', 'serve only clients with a certificate of this authority'))
  .addOption(
    option('--callback-allow <hosts>', 'where jobs may be pushed: names and addresses, by commas').argParser(
      list,
    ),
  )
  .addOption(option('--callback-secret <text>', 'signs pushes'))
  .addOption(file('--callback-ca <file>', 'authority of workers that serve HTTPS'))
  .addOption(file('--callback-cert <file>', 'certificate to show them'))
  .addOption(file('--callback-key <file>', 'its key'))
  .addOption(option('--max-body-bytes <number>', 'longest body').argParser(whole))
  .addOption(option('--max-depth <number>', 'deepest nesting of a body').argParser(whole))
  .addOption(option('--max-queued <number>', 'how many jobs may wait').argParser(whole))
  .addOption(new Option('--no-docs', 'no page at /docs (env: JQ_DOCS=off)'))
  .addOption(new Option('--no-metrics', 'no /metrics (env: JQ_METRICS=off)'));

/** What the command line and the environment say. Ends the process when they can't be read. @throws ConfigurationError */
export function optionsFromFlags(): JqMasterOptions {
  const flags = PROGRAM.parse().opts<Flags>();
  const { redis, prefix, host, port, maxBodyBytes, maxDepth, maxQueued, callbackAllow, callbackSecret } =
    flags;
  return {
    connection: redis,
    host,
    port,
    ...(prefix === undefined ? {} : { prefix }),
    tokens: {
      pusher: flags.pusherToken,
      worker: flags.workerToken,
      admin: flags.adminToken,
      metrics: flags.metricsToken,
    },
    ...tlsOf(flags),
    callbacks: {
      ...(callbackAllow ? { allow: callbackAllow } : {}),
      ...(callbackSecret === undefined ? {} : { secret: callbackSecret }),
      ...(flags.callbackCa ? { ca: flags.callbackCa } : {}),
      ...(flags.callbackCert ? { cert: flags.callbackCert } : {}),
      ...(flags.callbackKey ? { key: flags.callbackKey } : {}),
    },
    ...(maxBodyBytes === undefined ? {} : { maxBodyBytes }),
    ...(maxDepth === undefined ? {} : { maxDepth }),
    ...(maxQueued === undefined ? {} : { maxQueued }),
    ...(flags.docs && process.env['JQ_DOCS'] !== 'off' ? {} : { docs: false }),
    ...(flags.metrics && process.env['JQ_METRICS'] !== 'off' ? {} : { metrics: false }),
  };
}

function tlsOf({ tlsCert: cert, tlsKey: key, tlsClientCa: clientCa }: Flags): Pick<JqMasterOptions, 'tls'> {
  if (cert && key) return { tls: { cert, key, ...(clientCa ? { clientCa } : {}) } };
  if (!cert && !key && !clientCa) return {};
  throw new ConfigurationError('HTTPS wants both --tls-cert and --tls-key.');
}

/** Each flag also from the environment: `--max-depth` is JQ_MAX_DEPTH. */
function option(flags: string, description: string): Option {
  const made = new Option(flags, description);
  return made.env(`JQ_${made.name().toUpperCase().replaceAll('-', '_')}`);
}

function tokens(role: string, may: string): Option {
  return option(`--${role}-token <tokens>`, `who may ${may}, separated by commas`)
    .default([])
    .argParser(list);
}

/** Read at once, so that what can't be read is said at the start. */
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
