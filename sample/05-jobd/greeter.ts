import { Injectable } from '@nestjs/common';
import { Worker } from 'nestjs-gearmonkey';
import type { JobRow } from 'nestjs-gearmonkey/jobd';

/** Runs rows of the target `greet`; the returned text becomes the row's stdout. */
@Injectable()
export class Greeter {
  @Worker('greet', { concurrency: 2 })
  greet({ id }: JobRow): string {
    return `Hello, row ${id}!`;
  }
}
