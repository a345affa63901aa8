import { inspect, type InspectOptions } from 'node:util';

/**
 * Makes logs, `JSON.stringify` and `inspect` show of each object of a class what `view` picks, in place of its fields:
 * these lead to connections, and so to passwords. Neither of them throws, whatever the view holds.
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
      // As of the prototype itself, which has no fields.
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

/** Makes plain objects of records that are shown under a name, and whose values may be anything. */
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

/** For constructors, at their end: a copy by `{ ...object }`, which has no methods, has no fields to show either. */
export function hideFields(object: object): void {
  for (const key of Object.keys(object)) Object.defineProperty(object, key, { enumerable: false });
}

function define(prototype: object, key: string | symbol, value: unknown): void {
  Object.defineProperty(prototype, key, { value, configurable: true, writable: true });
}

/** What JSON can't express becomes text, and cycles are cut off. */
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
