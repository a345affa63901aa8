import { inspect } from 'node:util';

/** Shows its name and nothing else to logs, JSON and `inspect`: its fields lead to passwords. */
export abstract class Opaque {
  toJSON(): string {
    return this.constructor.name;
  }

  [inspect.custom](): string {
    return this.constructor.name;
  }
}
