import { median } from './statistics.mjs';

/** Makes the report that `--json` prints: medians, ratios and targets. */
export function summarize({ suite, measurements, results, host, facts, options }) {
  const sections = measurements.map((measurement) => ({
    name: measurement.name,
    title: measurement.title,
    rows: measurement.rows.map((row) => summarizeRow(row, suite, results.get(measurement.name))),
  }));
  const verdicts = sections.flatMap(({ rows }) => rows.flatMap(verdictsOf));
  return {
    suite: suite.name,
    title: suite.title,
    host,
    facts: Object.fromEntries(facts),
    rounds: options.rounds,
    scale: options.scale,
    contenders: suite.contenders,
    compared: suite.compared ?? 'median',
    sections,
    targets: { met: verdicts.filter(({ met }) => met).length, of: verdicts.length },
  };
}

function summarizeRow(row, { contenders, compared = 'median' }, figures) {
  const { key, title, unit, better, targets = {}, target } = row;
  const values = {};
  for (const [contender, rounds] of figures) {
    values[contender] = spreadOf(rounds.map((round) => round[key]).filter((figure) => figure !== null));
  }
  const [ours, ...others] = contenders.map((contender) => contender.key);
  const ratios = {};
  for (const other of others) {
    if (!values[ours] || !values[other]) continue;
    ratios[other] = judge(values[ours][compared] / values[other][compared], better, targets[other]);
  }
  const own =
    values[ours] && target !== undefined ? judge(values[ours][compared], better, target) : undefined;
  return { key, title, unit, better, values, ratios, ...(own && { own }) };
}

function spreadOf(rounds) {
  if (rounds.length === 0) return null;
  return { median: median(rounds), min: Math.min(...rounds), max: Math.max(...rounds), rounds };
}

/** A ratio or figure, with its target if it has one. */
function judge(value, better, target) {
  if (target === undefined) return { value };
  return { value, target, met: better === 'more' ? value >= target : value <= target };
}

function verdictsOf({ ratios, own }) {
  return [...Object.values(ratios), ...(own ? [own] : [])].filter(({ target }) => target !== undefined);
}
