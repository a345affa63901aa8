import { Injectable } from '@nestjs/common';
import { ConfigurationError } from '../job/errors.js';
import type { GearMonkeyInstance } from './gearmonkey.instance.js';

/** The instances of an app, by name. */
@Injectable()
export class InstanceRegistry {
  private readonly instances = new Map<string, GearMonkeyInstance>();

  /** @throws ConfigurationError when the name is taken */
  add(instance: GearMonkeyInstance): GearMonkeyInstance {
    if (this.instances.has(instance.name)) {
      throw new ConfigurationError(
        `GearMonkeyModule.forRoot is imported twice as "${instance.name}". Import it once in the root module, or give the other a \`name\`.`,
      );
    }
    this.instances.set(instance.name, instance);
    return instance;
  }

  /** @throws ConfigurationError naming `user` when there is none */
  get(name: string, user: string): GearMonkeyInstance {
    const instance = this.instances.get(name);
    if (instance) return instance;
    const known = [...this.instances.keys()].map((key) => `"${key}"`).join(', ') || 'none';
    throw new ConfigurationError(
      `${user} belongs to the instance "${name}", but there is no such GearMonkeyModule (known: ${known}). Import GearMonkeyModule.forRoot with that name.`,
    );
  }

  all(): readonly GearMonkeyInstance[] {
    return [...this.instances.values()];
  }
}
