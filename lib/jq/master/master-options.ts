import { isIPv4 } from 'node:net';
import { checkClientTls, checkServerTls, type ClientTls, type ServerTls } from '../../net/tls.js';
import { checkWhole } from '../../job/check-whole.js';
import { defined } from '../../job/defined.js';
import { ConfigurationError } from '../../job/errors.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import type { ConnectionSpec } from '../../redis/connect.js';
import { millisecondsOr, type Duration } from '../../job/duration.js';
import { MAX_INT32 } from '../wire/fields.js';
import type { BodyLimits } from '../http/read-body.js';
import { ENGINE_OPTIONS, engineSettings, type EngineOptions } from '../engine/settings.js';
import { CallbackAllowlist, NOT_TO_METADATA, type CallbackRule } from './callbacks/callback-allowlist.js';

export const MASTER_SETTINGS = Symbol('JqMasterSettings');

/** Roles of callers: `admin` may call everything, `metrics` the route of that name. */
export type Role = 'pusher' | 'worker' | 'admin' | 'metrics';

/** How the master pushes to workers. */
export interface CallbackOptions extends ClientTls {
  /**
   * Hosts and address ranges that pushes may go to. Without it all are allowed but link-local addresses and those of
   * clouds' metadata; with it, private addresses must be listed by address.
   */
  allow?: readonly string[];
  /** Signs every push: see docs/operate/jq-security.md. */
  secret?: string;
}

/** Options of `startJqMaster` and `JqMasterModule.forRoot`. */
export interface JqMasterOptions extends EngineOptions {
  /** A URL, ioredis options or a client. All masters on one Redis share the work. */
  connection: ConnectionSpec;
  /** The prefix of all keys in Redis. @default '{jq}:' */
  prefix?: string;
  /** @default '127.0.0.1' */
  host?: string;
  /** 0 for any free port. @default 8080 */
  port?: number;
  /** Bearer tokens by role. Without tokens every client may do everything; with one, each role needs its own. */
  tokens?: Partial<Record<Role, readonly string[]>>;
  /** Serves HTTPS instead of HTTP. */
  tls?: ServerTls;
  /** Options of pushes to workers; the master shows them `cert` and `key`. */
  callbacks?: CallbackOptions;
  /**
   * Allows to listen on other machines' networks without tokens or certificates, which is refused otherwise.
   *
   * @default false
   */
  allowOpen?: boolean;
  /**
   * Host names that clients use, besides addresses, localhost and names without a dot; `*` is any. Without tokens,
   * requests for other names are refused, since a web page may have rebound its name to this machine.
   */
  hosts?: readonly string[];
  /** The most connections; further ones are closed. Each long poll holds one. @default 10,000 */
  maxConnections?: number;
  /** The most waiting pulls and polls of one token, or of one address without tokens. @default half of `maxConnections` */
  maxPollsPerClient?: number;
  /** How long a request may take to arrive, head and body. @default '30s' */
  requestTimeout?: Duration;
  /** @default 4 MiB */
  maxBodyBytes?: number;
  /** How many levels of maps and arrays a body may have. @default 64 */
  maxDepth?: number;
  /** Serves a page for people at `/docs`; needs `@nestjs/swagger`. @default true if that is installed */
  docs?: boolean;
  /** Serves `/metrics` for Prometheus; needs `prom-client`. @default true if that is installed */
  metrics?: boolean;
}

const KNOWN = optionNames<JqMasterOptions>({
  ...ENGINE_OPTIONS,
  connection: true,
  prefix: true,
  host: true,
  port: true,
  tokens: true,
  tls: true,
  callbacks: true,
  allowOpen: true,
  hosts: true,
  maxConnections: true,
  maxPollsPerClient: true,
  requestTimeout: true,
  maxBodyBytes: true,
  maxDepth: true,
  docs: true,
  metrics: true,
});
const ROLES = optionNames<Record<Role, true>>({ pusher: true, worker: true, admin: true, metrics: true });
const CALLBACKS = optionNames<CallbackOptions>({
  allow: true,
  secret: true,
  ca: true,
  cert: true,
  key: true,
});

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8080;
const DEFAULT_MAX_BODY_BYTES = 4 * 1024 * 1024;
const DEFAULT_MAX_DEPTH = 64;
const HIGHEST_PORT = 65_535;
/** The limit of `maxDepth`. */
export const HIGHEST_DEPTH = 1000;
const MAX_BODY_BYTES = 256 * 1024 * 1024;
/** About the key length of a 256-bit hash: shorter secrets could be guessed. */
const MIN_SECRET_BYTES = 16;

/** Shorter tokens could be guessed. */
const GOOD_TOKEN_CHARACTERS = 16;

/** Limits that keep a few clients from taking everything. */
export interface ConnectionLimits {
  readonly maxConnections: number;
  /** Milliseconds for a whole request to arrive. */
  readonly requestTimeout: number;
}

/** The checked options, with defaults. */
export interface MasterSettings extends BodyLimits, ConnectionLimits {
  readonly host: string;
  readonly port: number;
  readonly hosts: readonly string[];
  readonly maxPollsPerClient: number;
  /** Milliseconds. */
  readonly pushTimeout: number;
  readonly tokens: Partial<Record<Role, readonly string[]>>;
  readonly tls?: ServerTls;
  readonly callbacks: {
    readonly rule: CallbackRule;
    readonly secret?: string;
    readonly tls: ClientTls;
  };
  readonly docs?: boolean;
  readonly metrics?: boolean;
}

/** @throws InvalidOptionError, ConfigurationError */
export function masterSettings(options: JqMasterOptions): MasterSettings {
  checkOptions('JqMaster', options, KNOWN);
  const { host = DEFAULT_HOST, port = DEFAULT_PORT, tokens = {}, tls, docs, metrics } = options;
  const { maxBodyBytes = DEFAULT_MAX_BODY_BYTES, maxDepth = DEFAULT_MAX_DEPTH } = options;
  checkTokens(tokens);
  checkOpenness(options);
  if (tls) checkServerTls('tls', tls);
  const maxConnections = checkWhole('maxConnections', options.maxConnections ?? 10_000, 1, MAX_INT32);
  return defined({
    host,
    port: checkWhole('port', port, 0, HIGHEST_PORT),
    maxBodyBytes: checkWhole('maxBodyBytes', maxBodyBytes, 1, MAX_BODY_BYTES),
    maxDepth: checkWhole('maxDepth', maxDepth, 1, HIGHEST_DEPTH),
    pushTimeout: engineSettings(options).push_timeout,
    maxConnections,
    maxPollsPerClient: checkWhole(
      'maxPollsPerClient',
      options.maxPollsPerClient ?? Math.ceil(maxConnections / 2),
      0,
      MAX_INT32,
    ),
    requestTimeout: millisecondsOr('30s', 'requestTimeout', options.requestTimeout),
    tokens,
    hosts: options.hosts ?? [],
    callbacks: callbackSettings(options.callbacks ?? {}),
    tls,
    docs,
    metrics,
  });
}

function callbackSettings(callbacks: CallbackOptions): MasterSettings['callbacks'] {
  const { allow, secret, ...tls } = checkOptions('callbacks', callbacks, CALLBACKS);
  checkClientTls('callbacks', tls);
  if (secret !== undefined && Buffer.byteLength(secret) < MIN_SECRET_BYTES) {
    throw new ConfigurationError(
      `The secret of \`callbacks\` is too short. Give it ${MIN_SECRET_BYTES} bytes or more, by chance.`,
    );
  }
  return defined({
    tls,
    rule: allow ? new CallbackAllowlist(allow) : NOT_TO_METADATA,
    secret,
  });
}

function checkTokens(tokens: NonNullable<JqMasterOptions['tokens']>): void {
  checkOptions('tokens', tokens, ROLES);
  if (Object.values(tokens).some((list) => list?.some((token) => !/^\S+$/.test(token)))) {
    throw new ConfigurationError(
      'A token of the master is empty or has white space. Give it some other text.',
    );
  }
}

export function hasTokens(tokens: MasterSettings['tokens']): boolean {
  return Object.values(tokens).some((list) => (list?.length ?? 0) > 0);
}

/** The roles with a token so short that it could be guessed. */
export function weakRoles(tokens: MasterSettings['tokens']): Role[] {
  const roles = Object.keys(tokens) as Role[];
  return roles.filter((role) => tokens[role]?.some((token) => token.length < GOOD_TOKEN_CHARACTERS));
}

function checkOpenness({ host = DEFAULT_HOST, tokens = {}, tls, allowOpen }: JqMasterOptions): void {
  if (allowOpen || hasTokens(tokens) || tls?.clientCa !== undefined || isLoopback(host)) return;
  throw new ConfigurationError(
    `Any client that reaches ${JSON.stringify(host)} could do everything: the master asks for no tokens. ` +
      'Give it `tokens`, or say with `allowOpen` (--allow-open) that this is meant.',
  );
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
