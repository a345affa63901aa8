import { isOurs, parse } from './fields.js';
import { found, type Violation } from './violation.js';
import type { History, Reading } from './history.js';

interface UniqueInput {
  readonly kind?: string;
  readonly key?: string;
}

/**
 * Of one unique key a job is created only when the one before has finished. When it was created says its client's clock,
 * perhaps long before the server got the call; but its last run began after that, by the same clock as the other's end.
 */
export function* oneOfItsKey({ readings }: History): Iterable<Violation> {
  const groups = new Map<string, Reading[]>();
  for (const reading of readings.values()) {
    const { kind, key } = (parse(reading.fields['input']) ?? {}) as UniqueInput;
    if (kind !== 'unique' || key === undefined) continue;
    groups.set(key, [...(groups.get(key) ?? []), reading]);
  }
  for (const [key, group] of groups) {
    const inOrder = group.toSorted((one, other) => Number(one.id) - Number(other.id));
    for (const [index, { fields, ...job }] of inOrder.entries()) {
      const before = inOrder[index - 1]?.fields;
      if (!before || !isOurs(before) || !isOurs(fields)) continue;
      const early = Number(before['finished']) - Number(fields['started']);
      if (early > 0)
        yield found(job, `it began ${early} ms before the job of its key ${key} before it ended`);
    }
  }
}
