import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { Injectable } from '@nestjs/common';

/** In place of a database: a file beside the one that is imported. Saving a row again changes nothing, as an upsert. */
@Injectable()
export class Table {
  private readonly file = `${process.env['IMPORT_FILE']}.table`;

  save(row: number, text: string): void {
    appendFileSync(this.file, `${row} ${text}\n`);
  }

  /** Rows that were saved, each counted once. */
  get size(): number {
    return new Set(this.lines().map((line) => line.split(' ')[0])).size;
  }

  /** How often a row was saved again. */
  get repeated(): number {
    return this.lines().length - this.size;
  }

  private lines(): string[] {
    if (!existsSync(this.file)) return [];
    return readFileSync(this.file, 'utf8').trimEnd().split('\n');
  }
}
