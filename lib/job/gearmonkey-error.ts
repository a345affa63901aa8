import { messageOf } from './error-info.js';
import { jsonOf } from './show-as.js';

/** Base class of all errors of this package. `code` is stable; `message` says what is wrong and what to do. */
export abstract class GearMonkeyError extends Error {
  static {
    // JSON.stringify leaves out an error's message; a log of the error shows all the rest anyway.
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
