import { ConfigurationError } from '../job/errors.js';
import { functionName, type FunctionRef } from '../job/job-definition.js';
import { readConfigured, type Configured, type OptionsFactory } from './configured-options.js';
import { warnWithoutModule } from './without-module.js';

/** A decorator of methods that belong to a function. */
export interface DecoratorKind {
  /** As in `@Worker`. */
  readonly name: string;
  readonly key: string;
  /** The names of its options. */
  readonly known: ReadonlySet<string>;
}

/** Metadata of a method: its function, its instance, and its options. */
export interface Annotation<Options> extends Configured<Options> {
  readonly ref: FunctionRef;
}

/**
 * Stores a decorated method's function and options, and what else its decorator adds.
 *
 * @throws ConfigurationError, InvalidFunctionNameError
 */
export function annotate<Options extends { instance?: string }>(
  { name, key, known }: DecoratorKind,
  target: object,
  method: string | symbol,
  ref: FunctionRef,
  options: Options | OptionsFactory<object> | ((config: never) => unknown),
  more: object = {},
): void {
  const configured = readConfigured<Options>(`@${name}`, options, known);
  functionName(ref);
  store(key, name, target, method, { ref, ...configured, ...more });
}

/** @throws ConfigurationError if the method has the decorator already, or can't have one */
function store(
  key: string,
  decorator: string,
  target: object,
  method: string | symbol,
  value: Annotation<unknown>,
): void {
  if (typeof method === 'object') {
    throw new ConfigurationError(
      `@${decorator} is compiled as one of JavaScript's own decorators, which neither Nest nor this package has. Set ` +
        '"experimentalDecorators": true in the tsconfig.json that the compiler reads (esbuild and tsx read it too).',
    );
  }
  if (typeof target === 'function') {
    throw new ConfigurationError(
      `@${decorator} is on ${target.name}.${String(method)}, which is static. Put it on an instance method.`,
    );
  }
  const handler: unknown = (target as Record<string | symbol, unknown>)[method];
  const where = `${target.constructor.name}.${String(method)}`;
  if (typeof handler !== 'function') {
    throw new ConfigurationError(
      `@${decorator} is on ${where}, which is not a method. Put it on an instance method.`,
    );
  }
  if (typeof method === 'symbol') {
    throw new ConfigurationError(
      `@${decorator} is on ${where}, whose name is a symbol, and Nest finds names of text only. Give the method a name.`,
    );
  }
  if (Reflect.hasOwnMetadata(key, handler)) {
    throw new ConfigurationError(`@${decorator} is on ${where} twice. Use one method for each function.`);
  }
  Reflect.defineMetadata(key, value, handler);
  const decorated = [...decoratedOf(target), { key, decorator, method }];
  Reflect.defineMetadata(DECORATED, decorated, target);
  if (decorated.length > 1) return;
  prototypes.add(new WeakRef(target));
  warnWithoutModule(target);
}

/** What a prototype remembers: a function that replaces a method does not have its metadata. */
export interface Decorated {
  readonly key: string;
  readonly decorator: string;
  readonly method: string;
}

const DECORATED = 'gearmonkey:decorated';
/** Of all classes of this process with decorated methods. */
const prototypes = new Set<WeakRef<object>>();

/** All classes of this process with decorated methods, by their prototypes. */
export function decoratedPrototypes(): object[] {
  return [...prototypes].flatMap((ref) => {
    const prototype = ref.deref();
    if (!prototype) prototypes.delete(ref);
    return prototype ?? [];
  });
}

export function decoratedOf(prototype: object): readonly Decorated[] {
  return (Reflect.getOwnMetadata(DECORATED, prototype) ?? []) as readonly Decorated[];
}

/** Methods that were replaced would silently never be called. @throws ConfigurationError that names the method */
export function refuseReplaced(prototype: object): void {
  for (let part: object | null = prototype; part; part = Object.getPrototypeOf(part) as object | null) {
    for (const { key, decorator, method } of decoratedOf(part)) {
      const handler: unknown = Object.getOwnPropertyDescriptor(part, method)?.value;
      if (typeof handler === 'function' && Reflect.hasOwnMetadata(key, handler)) continue;
      throw new ConfigurationError(
        `${part.constructor.name}.${method} has lost its @${decorator}: another decorator or a spy has replaced the ` +
          `method without its metadata. Write @${decorator} above the other decorator, or let that one copy the metadata.`,
      );
    }
  }
}

/** Reads what `annotate` has stored. */
export function annotationOf<T>(key: string, handler: object): T | undefined {
  return Reflect.getOwnMetadata(key, handler) as T | undefined;
}
