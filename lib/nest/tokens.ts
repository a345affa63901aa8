import { GearMonkeyClient } from '../gearmonkey/client.js';
import { DEFAULT_INSTANCE } from './gearmonkey.options.js';

/** The token of an instance's client; for the default instance it is the class itself. */
export function getGearMonkeyClientToken(name: string = DEFAULT_INSTANCE): string | typeof GearMonkeyClient {
  return name === DEFAULT_INSTANCE ? GearMonkeyClient : `GearMonkeyClient:${String(name)}`;
}

/** Of a BackendFactory that goes before the usual one: provided by a test's module. @internal */
export const BACKENDS = 'GearMonkeyBackends';

/** @internal */
export function getInstanceToken(name: string): string {
  return `GearMonkeyInstance:${String(name)}`;
}
