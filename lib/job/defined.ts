/** The fields that have a value: an undefined one would override a default. */
export function defined<T extends object>(fields: T): T;
export function defined(fields: Readonly<Record<string, unknown>>): object {
  const kept: Record<string, unknown> = {};
  for (const name in fields) if (fields[name] !== undefined) kept[name] = fields[name];
  return kept;
}
