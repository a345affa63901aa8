const SIGNS = { more: '>=', less: '<=' };

/** Formats the report as a table, with the figures of all contenders, ratios and targets. */
export function toText(report) {
  const { met, of } = report.targets;
  return [
    report.title,
    '',
    ...headOf(report).map(([label, text]) => `${label.padEnd(13)}${text}`),
    '',
    ...report.contenders.map(({ title, version, options }) => `${title} ${version}: ${options}`),
    '',
    ...table(report),
    '',
    'ratio: ours divided by theirs; (+) more is better, (-) less is better',
    `targets: ${met} of ${of} met`,
  ].join('\n');
}

function headOf({ host, facts }) {
  return [
    ['host', `${host.cores} x ${host.cpu}, ${host.memoryGiB} GiB, ${host.system}`],
    ['load before', `${host.loadAverage.map((load) => load.toFixed(2)).join(' ')} (1, 5 and 15 minutes)`],
    ['node', host.node],
    ...Object.entries(facts),
  ];
}

function table({ contenders, compared, sections }) {
  const [ours, ...others] = contenders;
  const header = ['', ours.title, 'target', ...others.flatMap(({ title }) => [title, 'ratio', 'target'])];
  const lines = sections.flatMap(({ title, rows }) => [
    [],
    [title],
    ...rows.map((row) => [
      `  ${row.title}, ${row.unit} (${row.better === 'more' ? '+' : '-'})`,
      figure(row.values[ours.key], compared),
      verdict(row.own, row.better),
      ...others.flatMap(({ key }) => comparison(row, key, compared)),
    ]),
  ]);
  return align([header, ...lines]);
}

function comparison({ values, ratios, better }, key, compared) {
  const ratio = ratios[key];
  return [figure(values[key], compared), ratio ? `${number(ratio.value)}x` : '', verdict(ratio, better)];
}

function figure(spread, compared) {
  if (!spread) return '';
  const { median, min, max } = spread;
  const half = median === 0 ? 0 : Math.round((50 * (max - min)) / median);
  return `${number(spread[compared])} ±${half}%`;
}

function verdict(judged, better) {
  if (judged?.target === undefined) return '';
  return `${SIGNS[better]} ${judged.target} ${judged.met ? 'met' : 'NOT MET'}`;
}

function number(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : Number(value.toPrecision(3)).toString();
}

/** Aligns the first column left and the others right; empty columns are left out. */
function align(lines) {
  const body = lines.slice(1);
  const filled = lines[0].map((_, column) => body.some((line) => (line[column] ?? '') !== ''));
  const kept = lines.map((line) => line.filter((_, column) => filled[column]));
  const widths = kept[0].map((_, column) =>
    Math.max(...kept.filter((line) => line.length !== 1).map((line) => line[column]?.length ?? 0)),
  );
  const pad = (cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]));
  return kept.map((line) => line.map(pad).join('  ').trimEnd());
}
