/**
 * Runs a suite of the benchmark: contenders in alternating rounds, on private servers.
 *
 *   npm run bench                       this package compared with BullMQ and bee-queue; a quarter of an hour
 *   npm run bench -- --quick            fewer jobs and the main measurements only, in a minute or so
 *   npm run bench -- --only latency     some measurements, by their names, separated by commas
 *   npm run bench -- --json             the report as JSON
 *   npm run bench -- --svg FILE         where the chart goes; without it only a full run draws one, into docs/figures/
 *   npm run bench -- --rounds 5         medians of this many rounds
 *   npm run bench -- --scale 0.5        this part of the jobs
 *   npm run bench -- NAME …             the suite in bench/suites/NAME
 *   npm run bench -- before COMMIT      CPU of a job in this tree and in that commit; fails if one takes 1.15 times as much
 *
 * The report goes to stdout, progress to stderr.
 */
import { writeFileSync } from 'node:fs';
import { drawChart } from './harness/chart.mjs';
import { describeHost } from './harness/host.mjs';
import { readOptions, UsageError } from './harness/options.mjs';
import { installPackages } from './harness/packages.mjs';
import { summarize } from './harness/report.mjs';
import { runRounds } from './harness/rounds.mjs';
import { loadSuite, select } from './harness/suite.mjs';
import { toText } from './harness/text.mjs';

const note = (line) => console.error(`bench: ${line}`);

try {
  await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  note(error.message);
  process.exitCode = 2;
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  installPackages(note);
  const suite = await loadSuite(options.suite);
  const measurements = select(suite, options);
  const host = describeHost();
  const started = performance.now();
  const stage = await suite.start(options);
  stopOnSignals(stage);
  try {
    const results = await runRounds({ ...options, suite, measurements, addresses: stage.addresses, note });
    note(`took ${Math.round((performance.now() - started) / 1000)} s`);
    /** @type {[label: string, text: string][]} */
    const facts = [...stage.facts, ['method', methodOf(options, suite)]];
    const report = summarize({ suite, measurements, results, host, facts, options });
    console.log(options.json ? JSON.stringify(report, null, 2) : `\n${toText(report)}`);
    // Few jobs say nothing.
    const isWhole = options.commit !== undefined && options.scale >= 1;
    if (isWhole && report.targets.met < report.targets.of) process.exitCode = 1;
    if (options.svg) writeFileSync(options.svg, await drawChart(report, suite.panels));
  } finally {
    await stage.stop();
  }
}

/**
 * @param {import('./harness/options.mjs').Options} options
 * @param {{ compared?: 'median' | 'min' }} suite
 */
function methodOf({ rounds, scale }, { compared }) {
  const sizes = scale === 1 ? '' : `, ${scale} of the jobs`;
  return `${compared === 'min' ? 'the smallest' : 'medians'} of ${rounds} alternating round(s), each in a process of its own${sizes}; ±: half the spread`;
}

/** Stops the servers on a signal. The processes of a round end with this one by themselves. */
function stopOnSignals(stage) {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => void stage.stop().finally(() => process.exit(1)));
  }
}
