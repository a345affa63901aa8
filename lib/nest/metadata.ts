import { ConfigurationError } from '../job/errors.js';

/** Stores a method decorator's data. @throws ConfigurationError if the method has the decorator already */
export function annotate(
  key: string,
  decorator: string,
  target: object,
  method: string | symbol,
  value: unknown,
): void {
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
  if (Reflect.hasOwnMetadata(key, handler)) {
    throw new ConfigurationError(`@${decorator} is on ${where} twice. Use one method for each function.`);
  }
  Reflect.defineMetadata(key, value, handler);
}

/** Reads what `annotate` stored. */
export function annotationOf<T>(key: string, handler: object): T | undefined {
  return Reflect.getOwnMetadata(key, handler) as T | undefined;
}
