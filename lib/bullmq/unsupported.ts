import { ConfigurationError } from '../job/errors.js';
import { checkOptions } from '../job/known-options.js';

/** The type of what there is in BullMQ and not here. The compiler shows what to use in its place. */
export interface NotHere<Remedy extends string> {
  readonly 'not in nestjs-gearmonkey/bullmq': Remedy;
}

/** Options of BullMQ that have no counterpart, and what to use in their place. */
export type Remedies = Readonly<Record<string, string>>;

/** Refuses them when the code is compiled. */
export type Refused<R extends Remedies> = { readonly [Name in keyof R & string]?: NotHere<R[Name]> };

/** @param what it is called in BullMQ @param remedy a sentence */
export function unsupported(what: string, remedy: string): ConfigurationError {
  return new ConfigurationError(`nestjs-gearmonkey/bullmq has no ${what}. ${remedy}`);
}

/** Returns a copy of the options. @throws ConfigurationError that names the remedy of one that is not supported */
export function checkBullOptions<T extends object>(
  user: string,
  options: T,
  known: ReadonlySet<string>,
  remedies: Remedies,
): T {
  const checked = checkOptions(user, options, allOf(options, known, remedies));
  for (const [name, value] of Object.entries(checked)) {
    const remedy = remedies[name];
    if (remedy === undefined) continue;
    if (value !== undefined) throw unsupported(`option \`${name}\` of ${user}`, remedy);
    Reflect.deleteProperty(checked, name);
  }
  return checked;
}

/** The names that may be read. An error that lists them does not list those without a counterpart. */
function allOf(options: unknown, known: ReadonlySet<string>, remedies: Remedies): ReadonlySet<string> {
  const isRefused = (name: string) => Object.hasOwn(remedies, name);
  return typeof options === 'object' && options !== null
    ? new Set([...known, ...Object.keys(options).filter(isRefused)])
    : known;
}

/** Adds methods of BullMQ that have no counterpart: JavaScript, and code with casts, gets an error with the remedy. */
export function refuseMethods(target: object, of: string, remedies: Remedies): void {
  for (const [name, remedy] of Object.entries(remedies))
    Object.defineProperty(target, name, {
      configurable: true,
      value: () => {
        throw unsupported(`${of}.${name}`, remedy);
      },
    });
}

/** The methods of an emitter of events but `on`, which a class has itself so that compilers refuse its calls. */
export function emitterMethods(remedy: string): Remedies {
  const names = ['once', 'off', 'addListener', 'removeListener', 'removeAllListeners', 'emit'];
  return Object.fromEntries(names.map((name) => [name, remedy]));
}
