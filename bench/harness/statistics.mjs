/** The median; for an even number of values the mean of the middle two, without values NaN. */
export function median(values) {
  const sorted = ascending(values);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The quantile: the value that `share` (0 to 1) of the values don't exceed; without values NaN. */
export function percentile(values, share) {
  return ascending(values)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? NaN;
}

function ascending(values) {
  return values.toSorted((one, other) => one - other);
}
