import { Inject } from '@nestjs/common';
import { getGearMonkeyClientToken } from './tokens.js';

/** Injects the client of a named instance, or of the default instance. */
export const InjectGearMonkey = (name?: string): PropertyDecorator & ParameterDecorator =>
  Inject(getGearMonkeyClientToken(name));
