import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Worker, type RunningJob } from 'nestjs-gearmonkey';
import { importFile } from './import.job.js';
import { Table } from './table.js';

@Injectable()
export class Importer {
  constructor(private readonly table: Table) {}

  @Worker(importFile)
  async import({ file }: { file: string }, job: RunningJob): Promise<number> {
    const total = await job.step('count the rows', () => count(file));
    const cursor = await job.cursor('rows', { start: 0 });
    if (cursor.value > 0) console.log(`worker ${process.pid} goes on behind row ${cursor.value}.`);
    let row = 0;
    for await (const line of linesOf(file)) {
      row += 1;
      if (row <= cursor.value) continue;
      await this.table.save(row, line);
      await delay(1);
      await cursor.advance(row);
      if (row % 100 === 0) await job.update(row, total);
    }
    return this.table.size;
  }
}

async function count(file: string): Promise<number> {
  let rows = 0;
  for await (const line of linesOf(file)) if (line) rows += 1;
  console.log(`worker ${process.pid} has counted ${rows} rows.`);
  return rows;
}

function linesOf(file: string): AsyncIterable<string> {
  return createInterface(createReadStream(file));
}
