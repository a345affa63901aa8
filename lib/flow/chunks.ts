/** Parts of a list, none longer than `size`; none of an empty list. */
export function chunksOf<T>(list: readonly T[], size: number): T[][] {
  const parts = Math.ceil(list.length / size);
  return Array.from({ length: parts }, (_, index) => list.slice(index * size, (index + 1) * size));
}
