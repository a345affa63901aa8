/** Compares the parts between dots and hyphens, numbers as numbers. */
const collator = new Intl.Collator('en', { numeric: true });

/** Below 0 if `one` is the lower version, above 0 if it is the higher one. `1.2.0-rc.1` is lower than `1.2.0`. */
export function compareVersions(one: string, other: string): number {
  const [release, before] = split(one);
  const [otherRelease, otherBefore] = split(other);
  const order = collator.compare(release, otherRelease);
  if (order !== 0 || before === otherBefore) return order;
  if (before === '' || otherBefore === '') return before === '' ? 1 : -1;
  return collator.compare(before, otherBefore);
}

/** The highest of some versions. */
export function highestOf(versions: readonly string[]): string | undefined {
  return versions.toSorted(compareVersions).at(-1);
}

/** Build metadata, behind a plus, does not count. */
function split(version: string): [release: string, before: string] {
  const [named = ''] = version.replace(/^v(?=\d)/, '').split('+');
  const at = named.indexOf('-');
  return at < 0 ? [named, ''] : [named.slice(0, at), named.slice(at + 1)];
}
