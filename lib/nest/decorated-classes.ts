import { annotationOf, decoratedOf, decoratedPrototypes } from './metadata.js';

/** How many classes a warning names. */
const MAX_NAMED = 20;

/** What a container knows of a provider or controller. */
export interface Placed {
  readonly token: unknown;
  readonly prototype: object | undefined;
}

/** Prototypes of classes that an app of this process has. */
const placed = new WeakSet<object>();

/** Remembers which classes an app has, also as the classes that others extend. */
export function notePlaced(all: readonly Placed[]): void {
  for (const { token, prototype } of all) {
    // The token of a mock stands for the class.
    const replaced = typeof token === 'function' ? (token.prototype as object | undefined) : undefined;
    for (const start of [prototype, replaced])
      for (let part = start ?? null; part; part = parentOf(part)) placed.add(part);
  }
}

/** A line about classes whose jobs do not run, because they are in no module. */
export function unplacedWarnings(): string[] {
  const names = decoratedPrototypes()
    .filter((prototype) => !placed.has(prototype))
    .map((prototype) => prototype.constructor.name);
  if (names.length === 0) return [];
  const listed = names.slice(0, MAX_NAMED).join(', ') + (names.length > MAX_NAMED ? ', …' : '');
  return [
    `Decorated methods of ${listed} are not called: no module of this app has the class. Add it to the \`providers\` ` +
      'of a module, or set `workers: false` for an app that runs no jobs.',
  ];
}

/** Lines about methods that override a decorated one without a decorator of their own. */
export function overriddenWarnings(prototype: object): string[] {
  const lines: string[] = [];
  for (let part = parentOf(prototype); part; part = parentOf(part))
    for (const { key, decorator, method } of decoratedOf(part)) {
      const handler = (prototype as Record<string, unknown>)[method];
      if (typeof handler !== 'function' || annotationOf(key, handler) !== undefined) continue;
      lines.push(
        `${prototype.constructor.name}.${method} overrides ${part.constructor.name}.${method} without its @${decorator}, ` +
          `so it is not called. Write @${decorator} above it too.`,
      );
    }
  return lines;
}

function parentOf(prototype: object): object | null {
  return Object.getPrototypeOf(prototype) as object | null;
}
