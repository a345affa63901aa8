import { createSecureContext } from 'node:tls';
import type { RedisOptions } from 'ioredis';
import { reasonOf } from '../job/error-info.js';
import { ConfigurationError } from '../job/errors.js';
import { clusterOptions, isCluster, redisOptions, startupNodes, type ConnectionSpec } from './connect.js';

interface Refusal {
  readonly option: string;
  refuses(value: unknown): boolean;
  readonly why: string;
}

const MAX_PORT = 65_535;

/** Options of ioredis that don't work with this package. */
const REFUSALS: readonly Refusal[] = [
  {
    option: 'keyPrefix',
    refuses: Boolean,
    why:
      'changes keys but not channels, so messages would be lost. Leave it out. To separate apps, use different function ' +
      'names, or the option `prefix` of qless and JQ',
  },
  {
    option: 'role',
    refuses: (value) => value === 'slave',
    why: 'leads to replicas, which take no jobs. Leave it out',
  },
  { option: 'readOnly', refuses: Boolean, why: 'leads to replicas, which take no jobs. Leave it out' },
  {
    option: 'url',
    refuses: (value) => value !== undefined,
    why: 'is no option of ioredis. Pass the URL itself as `connection`',
  },
  {
    option: 'port',
    refuses: (value) => isGiven(value) && !isInteger(value, 1, MAX_PORT),
    why: 'must be a whole number from 1 to 65535',
  },
  {
    option: 'db',
    refuses: (value) => isGiven(value) && !isInteger(value, 0, Infinity),
    why: 'must be a whole number, 0 or more',
  },
];

const NO_DB: Refusal = {
  option: 'db',
  refuses: (value) => isGiven(value) && Number(value) !== 0,
  why: 'must be 0: a cluster has no other',
};

/** @throws ConfigurationError that names the option but never its value, which may contain a password */
export function checkSpec(spec: ConnectionSpec): void {
  if (spec instanceof URL)
    throw new ConfigurationError('`connection` is a URL object. Pass the URL as text.');
  if (typeof spec === 'string' ? !isRedisUrl(spec) : !isSettings(spec)) {
    throw new ConfigurationError(
      "`connection` is not a URL like 'redis://127.0.0.1:6379', 'rediss://…' or 'memory:'. For anything else pass ioredis options or a client.",
    );
  }
  if (!isCluster(spec)) return checkOptions('connection', redisOptions(spec), REFUSALS);
  const { redisOptions: each = {}, ...options } = clusterOptions(spec);
  if (startupNodes(spec).length === 0)
    throw new ConfigurationError('`connection.nodes` is empty. Name some nodes of the cluster.');
  checkOptions('connection', options, REFUSALS);
  checkOptions('connection.redisOptions', each, [...REFUSALS, NO_DB]);
}

function checkOptions(path: string, options: object, refusals: readonly Refusal[]): void {
  for (const { option, refuses, why } of refusals) {
    const value = (options as Record<string, unknown>)[option];
    if (refuses(value)) throw new ConfigurationError(`\`${path}.${option}\` ${why}.`);
  }
  const { tls, sentinelTLS, sentinels } = options as RedisOptions;
  if (sentinels?.length === 0)
    throw new ConfigurationError(`\`${path}.sentinels\` is empty. Name some, or leave it out.`);
  checkTls(`${path}.tls`, tls);
  checkTls(`${path}.sentinelTLS`, sentinelTLS);
}

/** Checked at startup: with invalid TLS options every attempt to connect would fail. */
function checkTls(path: string, tls: RedisOptions['tls']): void {
  if (typeof tls === 'string')
    throw new ConfigurationError(
      `\`${path}\` must be an object. For TLS with its defaults write 'rediss://…'.`,
    );
  if (typeof tls !== 'object' || tls === null || tls.secureContext) return;
  try {
    createSecureContext(tls);
  } catch (error) {
    throw new ConfigurationError(
      `\`${path}\` can't be used: ${reasonOf(error)}. Give certificates and keys as PEM.`,
    );
  }
}

function isRedisUrl(url: string): boolean {
  return /^rediss?:\/\/./.test(url) && URL.canParse(url) && hasReadableUser(new URL(url));
}

function hasReadableUser({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/** ioredis ignores lists and inherited options, and would connect to 127.0.0.1. */
function isSettings(spec: unknown): boolean {
  if (typeof spec !== 'object' || spec === null || Array.isArray(spec)) return false;
  const prototype: unknown = Object.getPrototypeOf(spec);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isPlain || Object.keys(spec).length > 0;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isInteger(value: unknown, min: number, max: number): boolean {
  const number = Number(value);
  return Number.isInteger(number) && number >= min && number <= max;
}
