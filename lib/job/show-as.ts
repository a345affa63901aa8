import { inspect, type InspectOptions } from 'node:util';

/**
 * Makes `JSON.stringify`, `inspect` and logs show what `view` returns instead of an object's fields, because these
 * lead to connections and their passwords. It never throws, for any view.
 */
export function showAs<T extends object>(
  type: { readonly prototype: T; readonly name: string },
  view: (object: T) => object,
  name: string = type.name,
): void {
  const read = (object: T): object => {
    try {
      return view(object);
    } catch {
      // `read` fails on the prototype itself, which has no fields.
      return {};
    }
  };
  define(type.prototype, 'toJSON', function (this: T) {
    return jsonOf(read(this));
  });
  define(type.prototype, inspect.custom, function (this: T, depth: number, options: InspectOptions) {
    return depth < 0 ? `[${name}]` : `${name} ${inspect(read(this), options)}`;
  });
}

/** Makes plain objects that logs show under this name, with the fields that `view` returns. */
export function recordsOf<T extends object>(
  name: string,
  view: (record: T) => object = (record) => ({ ...record }),
): (fields: T) => T {
  class ShownRecord {
    constructor(fields: T) {
      Object.assign(this, fields);
    }
  }
  showAs(ShownRecord, (record) => view(record as T), name);
  return (fields) => new ShownRecord(fields) as T;
}

/** Call at the end of a constructor: a copy by `{ ...object }` then holds no fields that a log could show. */
export function hideFields(object: object): void {
  for (const key of Object.keys(object)) Object.defineProperty(object, key, { enumerable: false });
}

function define(prototype: object, key: string | symbol, value: unknown): void {
  Object.defineProperty(prototype, key, { value, configurable: true, writable: true });
}

/** Converts values that JSON can't express to text, and cuts off cycles. */
export function jsonOf(value: unknown, within: readonly unknown[] = []): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (within.includes(value)) return '[Circular]';
  const path = [...within, value];
  try {
    if ('toJSON' in value && typeof value.toJSON === 'function') return jsonOf(value.toJSON(), path);
    if (Array.isArray(value)) return value.map((item) => jsonOf(item, path));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, jsonOf(item, path)]));
  } catch {
    return '[Unreadable]';
  }
}
