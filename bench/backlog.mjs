/**
 * Measures whether a backlog makes jobs more expensive: runs jobs at the front of queues of very different length.
 *
 *   npm run check -- backlog                  up to 1,500,000 waiting jobs, about two minutes; draws docs/figures/backlog.svg
 *   npm run check -- backlog --max 100000     up to this many; draws nothing
 *   npm run check -- backlog --json           the figures as JSON
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { RedisServer } from '../test/support/redis-server.ts';
import { installPackages } from './harness/packages.mjs';
import { open } from './suites/peers/contenders/gearmonkey.mjs';

const STEPS = [1000, 10_000, 100_000, 1_000_000, 1_500_000];
const ROUNDS = 9;
/** Jobs that a round enqueues and runs; the backlog waits behind them. */
const JOBS = 5000;
const BULK = 1000;
const CONCURRENCY = 100;
const INPUT = { to: 'ada@example.com', subject: 'x'.repeat(60) };

const folder = fileURLToPath(new URL('.', import.meta.url));
const { values: asked } = parseArgs({ options: { max: { type: 'string' }, json: { type: 'boolean' } } });
const max = Number(asked.max ?? STEPS.at(-1));

installPackages((text) => console.error(`backlog: ${text}`));
/** @type {Awaited<ReturnType<typeof setUp>>[]} */
const stages = [];
try {
  for (const backlog of STEPS.filter((step) => step <= max)) stages.push(await setUp(backlog));
  const report = { host: await host(), jobs: JOBS, rounds: ROUNDS, steps: await measure() };
  console.log(asked.json ? JSON.stringify(report, null, 2) : toText(report));
  if (!asked.max) writeFileSync(`${folder}../docs/figures/backlog.svg`, await draw(report));
} finally {
  for (const stage of stages) await tearDown(stage);
}

/** A server for each backlog, so that rounds can alternate and a slow minute affects all of them. */
async function setUp(backlog) {
  console.error(`backlog: a server with ${backlog.toLocaleString('en-US')} jobs`);
  const server = await RedisServer.start();
  const stage = { backlog, server, redis: new Redis(server.url), queue: await open(server.url) };
  const before = await usedMemory(stage);
  for (let filled = 0; filled < backlog; filled += BULK)
    await stage.queue.enqueueBulk(Array(BULK).fill(INPUT));
  return { ...stage, bytes: ((await usedMemory(stage)) - before) / backlog };
}

async function tearDown({ queue, redis, server }) {
  await queue.close();
  redis.disconnect();
  await server.stop();
}

async function measure() {
  /** @type {Map<typeof stages[0], Awaited<ReturnType<typeof round>>[]>} */
  const measured = new Map(stages.map((stage) => [stage, []]));
  for (const stage of stages) await round(stage);
  for (let index = 1; index <= ROUNDS; index++) {
    console.error(`backlog: round ${index} of ${ROUNDS}`);
    for (const [stage, rounds] of measured) rounds.push(await round(stage));
  }
  return [...measured].map(([{ backlog, bytes }, rounds]) => ({ backlog, bytes, ...summarize(rounds) }));
}

/** Measures enqueueing and running JOBS, with the server's time. Afterwards as many jobs wait as before. */
async function round({ redis, queue }) {
  await redis.config('RESETSTAT');
  for (let left = JOBS; left > 0; left -= BULK) await queue.enqueueBulk(Array(BULK).fill(INPUT));
  const enqueueMicroseconds = (await scriptMicroseconds(redis)) / JOBS;
  await redis.config('RESETSTAT');
  let ran = 0;
  let enough;
  const done = new Promise((resolve) => (enough = resolve));
  const started = performance.now();
  const stop = await queue.work(CONCURRENCY, async () => {
    if (++ran === JOBS) enough(performance.now());
  });
  const seconds = ((await done) - started) / 1000;
  await stop();
  const runMicroseconds = (await scriptMicroseconds(redis)) / ran;
  return { enqueueMicroseconds, runMicroseconds, throughput: JOBS / seconds };
}

/** Server time of all scripts since the last RESETSTAT. */
async function scriptMicroseconds(redis) {
  const info = await redis.info('commandstats');
  return Number(/cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(info)?.[1] ?? 0);
}

async function usedMemory({ redis }) {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}

/** Takes the server time of the fastest round: other load can only increase it. */
function summarize(rounds) {
  const sorted = (key) => rounds.map((one) => one[key]).toSorted((one, other) => one - other);
  return {
    throughput: sorted('throughput')[Math.floor(rounds.length / 2)],
    runMicroseconds: sorted('runMicroseconds')[0],
    enqueueMicroseconds: sorted('enqueueMicroseconds')[0],
  };
}

async function host() {
  const [stage] = stages;
  const version = /^redis_version:(\S+)/m.exec((await stage?.redis.info('server')) ?? '')?.[1];
  return `${availableParallelism()} x ${cpus()[0]?.model ?? 'unknown CPU'}, Node ${process.version}, Redis ${version}, no persistence`;
}

function toText({ host, jobs, rounds, steps }) {
  const rows = [
    ['waiting', 'jobs/s', 'us a job run', 'us a job enqueued', 'bytes a job'],
    ...steps.map((step) => [
      step.backlog.toLocaleString('en-US'),
      Math.round(step.throughput).toLocaleString('en-US'),
      step.runMicroseconds.toFixed(1),
      step.enqueueMicroseconds.toFixed(1),
      step.bytes.toFixed(0),
    ]),
  ];
  return [
    host,
    `${rounds} alternating rounds of ${jobs} jobs, ${CONCURRENCY} at a time; jobs/s: median; us: server time in scripts, lowest`,
    '',
    ...rows.map((row) => row.map((cell) => cell.padStart(18)).join('')),
  ].join('\n');
}

/** Throughput and server time against the backlog. */
async function draw({ host, jobs, rounds, steps }) {
  const echarts = await import('echarts');
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 900, height: 440 });
  const line = (name, yAxisIndex, value) => ({
    name,
    type: 'line',
    yAxisIndex,
    symbolSize: 8,
    label: { show: true, position: 'top' },
    data: steps.map((step) => [step.backlog, value(step)]),
  });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    color: ['#d9480f', '#4c6ef5', '#12b886'],
    title: {
      text: 'Throughput against backlog',
      subtext: `${host}; ${rounds} alternating rounds of ${jobs} jobs: median jobs/s, lowest server time`,
      left: 'center',
    },
    legend: { top: 62, itemGap: 40 },
    grid: { top: 120, left: 80, right: 80, bottom: 50 },
    xAxis: {
      type: 'log',
      min: 500,
      max: 3_000_000,
      name: 'jobs waiting',
      nameLocation: 'middle',
      nameGap: 30,
    },
    yAxis: [
      { type: 'value', name: 'jobs/s', min: 0 },
      {
        type: 'value',
        name: 'us of the server a job',
        min: 0,
        max: ({ max: highest }) => Math.ceil(highest / 5) * 10,
        splitLine: { show: false },
      },
    ],
    series: [
      line('jobs run a second', 0, (step) => Math.round(step.throughput)),
      line('us to run one', 1, (step) => Number(step.runMicroseconds.toFixed(1))),
      line('us to enqueue one', 1, (step) => Number(step.enqueueMicroseconds.toFixed(1))),
    ],
  });
  try {
    return `${chart.renderToSVGString()}\n`;
  } finally {
    chart.dispose();
  }
}
