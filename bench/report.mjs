import { availableParallelism, cpus, totalmem } from 'node:os';
import { MEASURES, PAYLOAD } from './measurements.mjs';

/** Medians of all rounds, of what was measured where. */
export function summarize({ rounds, size, redisVersion }) {
  const contenders = [...groupByName(rounds)].map(([name, own]) => ({
    name,
    version: own[0].version,
    medians: Object.fromEntries(
      MEASURES.map(({ key }) => [key, median(own.map(({ results }) => results[key]))]),
    ),
    rounds: own.map(({ results }) => results),
  }));
  return {
    host: `${availableParallelism()} x ${cpus()[0]?.model ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`,
    node: process.version,
    redis: redisVersion,
    persistence: 'none',
    payloadBytes: Buffer.byteLength(JSON.stringify(PAYLOAD)),
    size,
    roundsEach: contenders[0].rounds.length,
    contenders,
  };
}

/** The summary for a reader: how many times better we are than each of the others. */
export function toText(summary) {
  const [ours, ...others] = summary.contenders;
  const header = ['', ...summary.contenders.map(({ name, version }) => `${name} ${version}`)];
  const rows = MEASURES.map(({ key, title, unit, higher }) => [
    `${title} (${unit})`,
    format(ours.medians[key]),
    ...others.map(({ medians }) => {
      const ratio = higher ? ours.medians[key] / medians[key] : medians[key] / ours.medians[key];
      return `${format(medians[key])} (${ratio.toFixed(2)}x)`;
    }),
  ]);
  return [
    `host         ${summary.host}`,
    `versions     Node ${summary.node}, Redis ${summary.redis}`,
    `persistence  ${summary.persistence}`,
    `payload      ${summary.payloadBytes} bytes of JSON, returned as it came`,
    `method       ${summary.size} size, medians of ${summary.roundsEach} alternating rounds, each in a process of its own with client and worker`,
    '',
    table([header, ...rows]),
    '',
    '(1.50x): nestjs-gearmonkey is one and a half times as good; below 1 it is worse',
  ].join('\n');
}

function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}

function format(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3);
}

function table(lines) {
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const pad = (cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]));
  return lines.map((line) => line.map(pad).join('  ')).join('\n');
}

/** `Map.groupBy`, which Node 20 doesn't have. */
function groupByName(rounds) {
  const groups = new Map();
  for (const round of rounds) groups.set(round.name, [...(groups.get(round.name) ?? []), round]);
  return groups;
}
