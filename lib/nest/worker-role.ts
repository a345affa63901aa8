import { ConfigurationError, InvalidOptionError } from '../job/errors.js';
import { checkFunctionName } from '../job/function-name.js';

/** Which handlers of an instance run in this process: all, none, or those of these functions. */
export type WorkersOption = boolean | readonly string[];

/** The variable for all instances. With `_` and the name of an instance in upper case, it is for that instance. */
export const WORKERS_VARIABLE = 'GEARMONKEY_WORKERS';
/** How many names a message lists. */
const MAX_LISTED = 20;

/** Which handlers of an instance run in this process, and the option or variable that decides this. */
export interface WorkerRole {
  readonly workers: boolean | ReadonlySet<string>;
  /** Its name in messages. */
  readonly saidBy: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Determines the role; the environment overrides the option. @throws ConfigurationError, InvalidOptionError */
export function workerRole(instance: string, option: WorkersOption = true, env: Environment): WorkerRole {
  for (const variable of [variableOf(instance), WORKERS_VARIABLE]) {
    const text = env[variable]?.trim();
    if (text) return { workers: fromText(variable, text), saidBy: variable };
  }
  const workers = typeof option === 'boolean' ? option : new Set(option);
  return { workers, saidBy: `\`workers\` of GearMonkeyModule "${instance}"` };
}

export function runsHere({ workers }: WorkerRole, fn: string): boolean {
  return typeof workers === 'boolean' ? workers : workers.has(fn);
}

/** Checks the option at run time, since it may come from a configuration. @throws InvalidOptionError */
export function checkWorkers(option: unknown): void {
  if (option === undefined || typeof option === 'boolean') return;
  const isList = Array.isArray(option) && option.length > 0;
  if (!isList)
    throw new InvalidOptionError(
      'workers',
      option,
      'true, false, or a list of one name of a function or more',
    );
  for (const name of option) checkFunctionName(name);
}

/** The role of an instance, and its functions with handlers. */
export interface RoleInUse {
  readonly instance: string;
  readonly role: WorkerRole;
  readonly functions: readonly string[];
}

/**
 * Refuses names without a handler: a misspelt name would leave a function without a worker, unnoticed.
 *
 * @throws ConfigurationError for a name without a handler, and for a variable of an unknown instance
 */
export function checkRoles(roles: readonly RoleInUse[], env: Environment): void {
  for (const saidBy of new Set(roles.map(({ role }) => role.saidBy))) {
    const deciding = roles.filter(({ role }) => role.saidBy === saidBy);
    const known = deciding.flatMap(({ functions }) => functions);
    for (const name of namesOf(deciding[0]?.role))
      if (!known.includes(name)) throw unknown(saidBy, name, known);
  }
  const variables = roles.map(({ instance }) => variableOf(instance));
  for (const [variable, text] of Object.entries(env))
    if (variable.startsWith(`${WORKERS_VARIABLE}_`) && text?.trim() && !variables.includes(variable))
      throw new ConfigurationError(
        `${variable} is set, but this app has no such instance: ${variables.join(', ')} would do. Correct or unset it.`,
      );
}

function namesOf(role: WorkerRole | undefined): Iterable<string> {
  return typeof role?.workers === 'object' ? role.workers : [];
}

function unknown(saidBy: string, name: string, known: readonly string[]): ConfigurationError {
  const listed = known.slice(0, MAX_LISTED).map((fn) => `"${fn}"`);
  const rest = known.length > MAX_LISTED ? ` and ${known.length - MAX_LISTED} more` : '';
  const there = listed.length > 0 ? `There are ${listed.join(', ')}${rest}` : 'There are none';
  return new ConfigurationError(
    `${saidBy} names "${name}", and there is no handler for it here. ${there}. Correct the name, or leave it out; a ` +
      'handler that is added at run time has to be added before the app has started.',
  );
}

function variableOf(instance: string): string {
  return `${WORKERS_VARIABLE}_${instance.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
}

function fromText(variable: string, text: string): boolean | ReadonlySet<string> {
  const lower = text.toLowerCase();
  if (lower === 'true' || lower === 'false') return lower === 'true';
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => name === '' || ['true', 'false'].includes(name.toLowerCase()));
  if (wrong !== undefined)
    throw new ConfigurationError(
      `${variable} is '${text}'. Set it to true, to false, or to names of functions with commas between them.`,
    );
  for (const name of names) checkFunctionName(name);
  return new Set(names);
}
