/** Splits a list into parts of at most `size` items. An empty list has no parts. */
export function chunksOf<T>(list: readonly T[], size: number): T[][] {
  const parts = Math.ceil(list.length / size);
  return Array.from({ length: parts }, (_, index) => list.slice(index * size, (index + 1) * size));
}
