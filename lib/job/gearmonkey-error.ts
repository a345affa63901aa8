import { messageOf } from './error-info.js';
import { jsonOf } from './show-as.js';

/** Base of every error this package raises. `code` is stable; `message` names what was wrong and the remedy. */
export abstract class GearMonkeyError extends Error {
  static {
    // JSON leaves an error's message out, and the text of an error has the rest already.
    Object.defineProperty(this.prototype, 'toJSON', { value: errorJson, configurable: true, writable: true });
  }

  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

function errorJson(this: GearMonkeyError): unknown {
  const { name, code, message, cause } = this;
  const because = cause === undefined ? {} : { cause: messageOf(cause) };
  return jsonOf({ name, code, message, ...(this as object), ...because });
}
