/** Groups items by function; each group keeps the order. */
export function byFunction<T>(items: readonly T[], fnOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(fnOf(item));
    if (group) group.push(item);
    else groups.set(fnOf(item), [item]);
  }
  return groups;
}
