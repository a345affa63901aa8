import { checkWhole } from '../job/check-whole.js';
import { maxPayloadBytesOf } from '../gearmonkey/core/client/known-functions.js';
import { codecOf } from '../job/codec.js';
import { describe } from '../job/error-info.js';
import { ConfigurationError, InvalidOptionError, type ErrorDetail } from '../job/errors.js';
import { checkKeep } from '../job/keep.js';
import type { JobSource } from '../job/job-source.js';
import { checkOptions } from '../job/known-options.js';
import { withoutSecrets } from '../job/secrets.js';
import { checkJobLimits } from '../worker/job-handler.js';
import {
  MODULE_OPTIONS,
  REDIS_OPTIONS,
  type GearMonkeyModuleOptions,
  type MemoryModuleOptions,
  type RedisModuleOptions,
  type SourceModuleOptions,
} from './gearmonkey.options.js';
import { checkApp } from './app-version.js';
import { checkMiddleware } from './middleware.js';
import { checkWorkers } from './worker-role.js';

const USER = 'GearMonkeyModule.forRoot';

/** Options whose types are not trusted: JavaScript, a cast or a configuration file may have any values. */
type Unchecked = { readonly [Name in keyof GearMonkeyModuleOptions | 'name']?: unknown };

/**
 * Checks and copies the options. Each is read only once, since a getter may return another value the next time.
 *
 * @throws ConfigurationError, InvalidOptionError
 */
export function checkedOptions(
  instance: string,
  unchecked: GearMonkeyModuleOptions,
): GearMonkeyModuleOptions {
  if (typeof instance !== 'string' || instance === '')
    throw new InvalidOptionError('name', instance, 'text, or absent for the default instance');
  const options: Unchecked = checkOptions(USER, unchecked, MODULE_OPTIONS);
  const given = options as GearMonkeyModuleOptions;
  if (options.name !== undefined && options.name !== instance) {
    throw new ConfigurationError(
      'The options that forRootAsync was given contain a `name`. Write it beside `useFactory`, `useClass` or `useExisting`.',
    );
  }
  checkWhere(instance, options);
  checkWhole('maxStalls', given.maxStalls ?? 0, 0);
  checkWhole('waitReplicas', given.waitReplicas ?? 1, 1);
  checkJobLimits(given.jobLimits ?? {});
  codecOf(given.codec);
  maxPayloadBytesOf(given);
  checkWhole('maxStepBytes', given.maxStepBytes ?? 1, 1);
  checkChoices(given);
  if (isForSource(given) && given.middleware?.some((one) => one.aroundEnqueue))
    throw withoutClient(instance, 'aroundEnqueue');
  checkWorkers(given.workers);
  checkApp(given.app);
  if (given.keep !== undefined) checkKeep(given.keep);
  return given;
}

export function isForSource(options: GearMonkeyModuleOptions): options is SourceModuleOptions {
  return isGiven(options.source);
}

export function isForMemory(
  options: RedisModuleOptions | MemoryModuleOptions,
): options is MemoryModuleOptions {
  return typeof options.connection === 'string' && options.connection.startsWith('memory:');
}

function checkWhere(instance: string, options: Unchecked): void {
  const { connection, source } = options;
  if (isGiven(connection) && isGiven(source)) {
    throw new ConfigurationError(
      `GearMonkeyModule "${instance}" has both \`connection\` and \`source\`. Keep one of them, and ` +
        'make a second instance with a `name` for the other.',
    );
  }
  if (isGiven(source)) {
    checkSource(source);
    for (const option of ['headers', 'app', 'keep'] as const)
      if (options[option] !== undefined) throw withoutClient(instance, option);
    return refuseRedisOptions(instance, options, `the jobs come from a \`source\``);
  }
  if (!isGiven(connection)) {
    const empty = 'connection' in options ? ` \`connection\` is ${String(connection)} here.` : '';
    throw new ConfigurationError(
      `GearMonkeyModule "${instance}" needs either \`connection\` or \`source\`.${empty} Without a server: forRoot({ connection: 'memory:' }).`,
    );
  }
  const kind = wrongKind(connection);
  if (kind)
    throw new ConfigurationError(
      `\`connection\` of GearMonkeyModule "${instance}" is ${kind}. Pass a URL as text, ioredis options or a client.`,
    );
  if (typeof connection === 'string' && connection.startsWith('memory:'))
    refuseRedisOptions(instance, options, `the connection is '${connection}'`);
}

function withoutClient(instance: string, option: string): ConfigurationError {
  return new ConfigurationError(
    `GearMonkeyModule "${instance}" has \`${option}\`, but its jobs come from a \`source\`, which only instances with a \`connection\` can use. Leave it out.`,
  );
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Values that ioredis would treat as empty options, and then connect to localhost. */
function wrongKind(connection: unknown): string | undefined {
  if (typeof connection === 'function') return 'a function';
  if (connection instanceof Promise) return 'a Promise, which `forRootAsync` can wait for';
  return connection instanceof String ? 'a String object' : undefined;
}

function refuseRedisOptions(instance: string, options: Unchecked, why: string): void {
  for (const name of REDIS_OPTIONS) {
    const value = options[name as keyof Unchecked];
    if (value === undefined) continue;
    throw new ConfigurationError(
      `GearMonkeyModule "${instance}" has \`${name}: ${shown(value)}\`, but ${why}, and only Redis has that option. ` +
        "Leave it out, or give it only where `connection` is a Redis: { connection: 'redis://…', " +
        `${name}: … }.`,
    );
  }
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? `'${withoutSecrets(value)}'` : describe(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** The methods that every source must have. */
const METHODS = [
  'open',
  'claim',
  'renew',
  'progress',
  'settle',
  'close',
] as const satisfies readonly (keyof JobSource)[];

function checkSource(source: unknown): void {
  const missing = METHODS.filter((name) => typeof (source as Partial<JobSource>)[name] !== 'function');
  if (missing.length === 0) return;
  const call =
    typeof source === 'function' && source.name
      ? ` Did you mean to call it: \`source: ${source.name}({ … })\`?`
      : '';
  throw new ConfigurationError(
    `\`source\` of ${USER} is not a JobSource: it lacks ${missing.map((name) => `${name}()`).join(', ')}.${
      call || ' Pass what qless({ … }), jq({ … }) or jobd({ … }) returns, or a JobSource of your own.'
    }`,
  );
}

const DETAILS: ReadonlySet<unknown> = new Set<ErrorDetail | undefined>(['message', 'stack', undefined]);

/** Values from a configuration file may be text: `'false'` is not a boolean. */
function checkChoices({
  errorDetail,
  durability,
  hashTag = false,
  globalEnhancers = false,
  headers,
  middleware,
  statistics = true,
}: GearMonkeyModuleOptions) {
  if (!DETAILS.has(errorDetail))
    throw new InvalidOptionError('errorDetail', errorDetail, "'message' or 'stack'");
  if (durability !== undefined && durability !== 'wait')
    throw new InvalidOptionError('durability', durability, "'wait' or absent");
  if (headers !== undefined && typeof headers !== 'function')
    throw new InvalidOptionError('headers', headers, 'a function, which is called for each job');
  checkMiddleware(middleware);
  for (const [option, value] of Object.entries({ hashTag, globalEnhancers, statistics })) {
    if (typeof value !== 'boolean') throw new InvalidOptionError(option, value, 'true or false');
  }
}
