import type { Observable } from 'rxjs';
import {
  CurrentJob,
  Input,
  OnCreate,
  OnProgress,
  Worker,
  progress,
  type JobEvent,
  type JobProgress,
  type ProgressUpdate,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { mail, measure, resize, type Size } from './definitions.js';

declare const output: string;

/** Every method here compiles. */
export class Accepted {
  @Worker(resize)
  value({ width, height }: Size): string {
    return `${width}x${height}`;
  }
  @Worker(resize, { concurrency: 2 })
  async promise(_value: Size, job: RunningJob<Size>): Promise<string> {
    return job.id;
  }
  @Worker(resize)
  async *generator(_value: Size): AsyncGenerator<ProgressUpdate, string> {
    yield progress(1, 2);
    return output;
  }
  @Worker(resize)
  *syncGenerator(_value: Size): Generator<ProgressUpdate, string> {
    yield progress(1, 2);
    return output;
  }
  @Worker(resize)
  observable(_value: Size): Observable<ProgressUpdate | string> {
    throw new Error(output);
  }
  @Worker(resize)
  wider(_value: { width: number }): string {
    return output;
  }
  @Worker(resize)
  bare(): string {
    return output;
  }
  @Worker(resize)
  jobFirst(@CurrentJob() _job: RunningJob, @Input() _input: Size): string {
    return output;
  }
  @Worker(resize)
  typedJobFirst(@CurrentJob() _job: RunningJob<Size>, @Input('width') _width: number): string {
    return output;
  }
  @Worker(resize)
  property(@Input('width') _width: number, @Input('height') _height: number): string {
    return output;
  }
  @Worker(resize)
  typedProperty(@Input<Size>('width') _width: number, @Input<Size>() _input: Size): string {
    return output;
  }
  @Worker(measure)
  parsed(input: { text: number }): number {
    return input.text;
  }
  @Worker(mail)
  anyOutput(_value: { to: string }) {
    return { sent: new Date() };
  }
  @Worker('anything')
  named(_first: Date, _second: RunningJob): symbol {
    return Symbol.iterator;
  }
  @Worker('anything', { instance: 'legacy' })
  empty() {}
  @OnCreate(resize)
  created(_value: JobEvent) {}
  @OnProgress('resize')
  async progressed({ dividend }: JobProgress) {
    return dividend;
  }
  @OnProgress(resize)
  unread() {}
}

/** Of these, none does. */
export class Refused {
  // @ts-expect-error the input is a Size
  @Worker(resize)
  input(_value: string): string {
    return output;
  }
  // @ts-expect-error the output is a string
  @Worker(resize)
  output(_value: Size): number {
    return 1;
  }
  // @ts-expect-error a Promise of the wrong output
  @Worker(resize)
  async promise(_value: Size): Promise<number> {
    return 1;
  }
  // @ts-expect-error a generator of the wrong output
  @Worker(resize)
  async *generator(_value: Size): AsyncGenerator<ProgressUpdate, number> {
    yield progress(1, 2);
    return 1;
  }
  // @ts-expect-error a generator of the wrong output
  @Worker(resize)
  *syncGenerator(_value: Size): Generator<ProgressUpdate, number> {
    yield progress(1, 2);
    return 1;
  }
  // @ts-expect-error the handler gets the parsed input
  @Worker(measure)
  unparsed(_value: { text: string }): number {
    return 1;
  }
  // @ts-expect-error the handler returns what the schema takes
  @Worker(measure)
  transformed(_value: { text: number }): string {
    return output;
  }
  // @ts-expect-error a property that the definition does not have
  @Worker(mail)
  property(_value: number) {}
  @Worker('anything')
  // @ts-expect-error a property that a Size does not have
  misspelt(@Input<Size>('widht') _width: number) {}
  // @ts-expect-error no such option
  @Worker(resize, { concurency: 2 })
  option(_value: Size): string {
    return output;
  }
  // @ts-expect-error neither a name nor a definition
  @Worker(7)
  name() {}
  // @ts-expect-error an event is no progress
  @OnCreate(resize)
  created(_value: JobProgress) {}
}
