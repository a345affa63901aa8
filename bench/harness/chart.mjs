const WIDTH = 960;
const ROW_HEIGHT = 300;
const COLUMNS = 2;
const HEAD = 90;
const FOOT = 0;
const COLORS = ['#d9480f', '#4c6ef5', '#868e96', '#12b886', '#fab005'];
const FONT = 'system-ui, sans-serif';

/** An SVG with a panel of bars for each of the suite's panels that was measured. */
export async function drawChart(report, panels) {
  const echarts = await import('echarts');
  const drawn = panels.map((panel) => withRows(panel, report)).filter(({ rows }) => rows.length > 0);
  const height = HEAD + Math.ceil(drawn.length / COLUMNS) * ROW_HEIGHT + FOOT;
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  try {
    chart.setOption(optionOf(report, drawn));
    return `${chart.renderToSVGString()}\n`;
  } finally {
    chart.dispose();
  }
}

function withRows({ title, rows }, { sections }) {
  const measured = new Map(sections.flatMap((section) => section.rows).map((row) => [row.key, row]));
  return {
    title,
    rows: rows.filter(([key]) => measured.has(key)).map(([key, label]) => ({ ...measured.get(key), label })),
  };
}

function optionOf({ title, contenders, host, facts, rounds }, panels) {
  const subtitle = `${host.cores} x ${host.cpu}, Node ${host.node}, ${facts.redis ?? ''}; medians of ${rounds} rounds`;
  return {
    animation: false,
    backgroundColor: '#ffffff',
    color: COLORS,
    textStyle: { fontFamily: FONT },
    legend: { top: 56, itemGap: 40, data: contenders.map((contender) => contender.title) },
    title: [
      { text: title, subtext: subtitle, left: 'center', top: 8, textStyle: { fontSize: 16 } },
      ...panels.map(panelTitle),
    ],
    grid: panels.map((_, index) => placeOf(index)),
    xAxis: panels.map(({ rows }, gridIndex) => ({
      gridIndex,
      type: 'category',
      data: rows.map(({ label }) => label),
      axisTick: { show: false },
    })),
    yAxis: panels.map((_, gridIndex) => ({ gridIndex, type: 'value', axisLabel: { formatter: short } })),
    series: panels.flatMap((panel, index) => contenders.map((contender) => barsOf(panel, index, contender))),
  };
}

function placeOf(index) {
  const width = WIDTH / COLUMNS;
  return {
    left: (index % COLUMNS) * width + 56,
    top: HEAD + Math.floor(index / COLUMNS) * ROW_HEIGHT + 44,
    width: width - 80,
    height: ROW_HEIGHT - 90,
  };
}

function panelTitle({ title, rows: [{ unit, better }] }, index) {
  const { left, top } = placeOf(index);
  const text = `${title} (${unit}, ${better} is better)`;
  return { text, left: left - 40, top: top - 36, textStyle: { fontSize: 13 } };
}

function barsOf({ rows }, index, { key, title }) {
  return {
    type: 'bar',
    name: title,
    xAxisIndex: index,
    yAxisIndex: index,
    barGap: '10%',
    data: rows.map(({ values }) => values[key]?.median ?? null),
    label: { show: true, position: 'top', fontSize: 10, formatter: ({ value }) => short(value) },
  };
}

function short(value) {
  if (value === null || value === undefined) return '';
  if (value >= 1000) return `${Number((value / 1000).toPrecision(3))}k`;
  return `${Number(value.toPrecision(3))}`;
}
