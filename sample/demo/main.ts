import 'reflect-metadata';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyClient } from 'nestjs-gearmonkey';
import { DashboardUrl } from 'nestjs-gearmonkey/dashboard';
import { once } from 'node:events';
import { checkAll } from './check.js';
import { ClientModule, EmbeddedModule, usesRedis } from './demo.modules.js';
import { createDisplay } from './display.js';
import type { DigestInput } from './digest.job.js';
import { formatBytes, formatCount } from './format.js';
import { parseOptions, USAGE } from './options.js';
import { allAgree, report } from './report.js';
import { runJobs } from './run-jobs.js';
import { sample, UsageError, walk, type Skipped } from './walk.js';
import { WorkerProcesses } from './worker-processes.js';

/** The most files that are searched in a large folder. */
const MAX_WALKED = 50_000;

async function main(argv: readonly string[]): Promise<number> {
  const { folder, files: count, dashboard, help } = parseOptions(argv);
  if (help) {
    console.log(USAGE);
    return 0;
  }
  const { files, skipped } = await walk(folder, Math.max(MAX_WALKED, count));
  const chosen = sample(files, count);
  announce(folder, chosen, files.length);
  const workers = usesRedis ? await WorkerProcesses.start() : undefined;
  try {
    console.log(
      `  ${workers ? `${workers.count} worker processes on Redis` : 'embedded: no server, one process'}\n`,
    );
    return await Promise.race([
      digestAndCheck(folder, chosen, skipped, dashboard),
      ...(workers ? [workers.lost()] : []),
    ]);
  } finally {
    await workers?.stop();
  }
}

/** Returns the exit code: 0 if every digest agrees with a direct computation. */
async function digestAndCheck(
  folder: string,
  files: readonly DigestInput[],
  skipped: readonly Skipped[],
  withDashboard: boolean,
): Promise<number> {
  const module = usesRedis ? ClientModule : EmbeddedModule;
  // For the end of the dashboard: a browser may keep a connection that it has not used yet.
  const closing = { forceCloseConnections: true };
  const app = await NestFactory.create(module, { logger: false, abortOnError: false, ...closing });
  await app.init();
  const display = createDisplay(folder, process.stdout);
  try {
    const since = new Date();
    const started = performance.now();
    const finished = await runJobs(app.get(GearMonkeyClient), files, display);
    const seconds = (performance.now() - started) / 1000;

    display.beginCheck(finished.length);
    const verdicts = await checkAll(finished, since, () => display.checked());
    display.end();

    console.log(`\n${report({ folder, finished, verdicts, skipped, seconds })}`);
    if (withDashboard) await showDashboard(app);
    else console.log('\n  To see the jobs in a browser: npm run demo -- --dashboard');
    return allAgree(verdicts) ? 0 : 1;
  } finally {
    display.end();
    await app.close();
  }
}

/** Serves the dashboard, to who has its URL with the token, until ctrl-c. */
async function showDashboard(app: INestApplication): Promise<void> {
  await app.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1');
  console.log(`\n  The jobs are at ${app.get(DashboardUrl).url} until ctrl-c`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}

function announce(folder: string, files: readonly DigestInput[], found: number): void {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const of = found > files.length ? ` of ${formatCount(found)}` : '';
  console.log(
    `\n  nestjs-gearmonkey: ${formatCount(files.length)}${of} files in ${folder} (${formatBytes(bytes)}), one job each`,
  );
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageError) console.error(`${error.message}\n\n${USAGE}`);
  else console.error(error instanceof Error ? error.message : error);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
