import 'reflect-metadata';
import { fork, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyClient } from 'nestjs-gearmonkey';
import { filter, firstValueFrom } from 'rxjs';
import { ClientModule } from './app.module.js';
import { importFile } from './import.job.js';
import { Table } from './table.js';

const ROWS = 4000;

if (!process.env['REDIS_URL']) {
  console.error('This sample kills a worker, so the job has to be on a server: set REDIS_URL.');
  process.exit(2);
}

const folder = await mkdtemp(join(tmpdir(), 'import-'));
const file = (process.env['IMPORT_FILE'] = join(folder, 'rows.csv'));
await writeFile(file, Array.from({ length: ROWS }, (_, n) => `row ${n},${n * n}\n`).join(''));

const loader = ['--import', new URL('../../scripts/typescript.mjs', import.meta.url).href];
const startWorker = (): ChildProcess => fork(new URL('worker.ts', import.meta.url), [], { execArgv: loader });

const app = await NestFactory.createApplicationContext(ClientModule, { logger: false, abortOnError: false });
const workers = [startWorker()];
try {
  const job = await app.get(GearMonkeyClient).run(importFile, { file });
  await firstValueFrom(job.progress$.pipe(filter(({ dividend, divisor }) => dividend > 0.6 * divisor)));
  workers[0]?.kill('SIGKILL');
  console.log(`worker ${workers[0]?.pid} was killed in the middle.`);
  workers.push(startWorker());
  console.log(`${await job.result()} of ${ROWS} rows are imported.`);
  console.log(`${app.get(Table).repeated} rows were saved twice: those of the second before the kill.`);
} finally {
  for (const worker of workers) worker.kill('SIGTERM');
  await app.close();
  await rm(folder, { recursive: true });
}
