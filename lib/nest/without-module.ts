import { nestLog } from './nest-log.js';

const HOOK = 'onApplicationBootstrap';
let hasModule = false;
let hasWarned = false;

/** An app of this process has the module, so decorated methods are found. */
export function noteModule(): void {
  hasModule = true;
}

/**
 * Has a decorated class say that nothing finds its methods. Without the module no code of this package would run in the
 * app, but Nest calls this hook of every provider. A class with a hook of its own keeps that.
 */
export function warnWithoutModule(prototype: object): void {
  if (HOOK in prototype) return;
  Object.defineProperty(prototype, HOOK, { value: warn, configurable: true, writable: true });
}

function warn(this: object): void {
  if (hasModule || hasWarned) return;
  hasWarned = true;
  nestLog('GearMonkey').warn(
    `Decorated methods of ${this.constructor.name} are not called, since the app has no GearMonkeyModule. ` +
      "Import GearMonkeyModule.forRoot({ connection: 'redis://…' }) in the app's root module.",
  );
}
