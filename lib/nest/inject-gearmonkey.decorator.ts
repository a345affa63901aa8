import { Inject } from '@nestjs/common';
import { getGearMonkeyClientToken } from './tokens.js';

/** Injects the client of a named instance; without a name, the default one's. */
export const InjectGearMonkey = (name?: string): PropertyDecorator & ParameterDecorator =>
  Inject(getGearMonkeyClientToken(name));
