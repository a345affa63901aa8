import { Injectable } from '@nestjs/common';
import { Worker } from 'nestjs-gearmonkey';
import { greet, type Person } from './greet.job.js';

/** The handler. */
@Injectable()
export class Greeter {
  @Worker(greet, { concurrency: 2 })
  greet({ name }: Person): string {
    if (name === '') throw new Error('The name is empty');
    return `Hello, ${name}!`;
  }
}
