import { ConfigurationError } from '../job/errors.js';

/** Writes what a method decorator says, once. @throws ConfigurationError when the method has it already */
export function annotate(
  key: string,
  decorator: string,
  target: object,
  method: string | symbol,
  value: unknown,
): void {
  if (typeof target === 'function') {
    throw new ConfigurationError(
      `@${decorator} stands on ${target.name}.${String(method)}, which is static. Put it on an instance method.`,
    );
  }
  const handler: unknown = (target as Record<string | symbol, unknown>)[method];
  const where = `${target.constructor.name}.${String(method)}`;
  if (typeof handler !== 'function') {
    throw new ConfigurationError(
      `@${decorator} stands on ${where}, which is not a method. Put it on an instance method.`,
    );
  }
  if (Reflect.hasOwnMetadata(key, handler)) {
    throw new ConfigurationError(`@${decorator} stands twice on ${where}. Use one method for each function.`);
  }
  Reflect.defineMetadata(key, value, handler);
}

/** What `annotate` wrote. */
export function annotationOf<T>(key: string, handler: object): T | undefined {
  return Reflect.getOwnMetadata(key, handler) as T | undefined;
}
