import type { ConfigService } from '@nestjs/config';
import type { Observable } from 'rxjs';
import {
  CurrentJob,
  Input,
  OnCreate,
  OnProgress,
  Worker,
  fail,
  later,
  ok,
  progress,
  type BatchOutcome,
  type GearMonkeyWorkers,
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
  @Worker(resize, (config: ConfigService) => ({ concurrency: config.get('RESIZE') }))
  configured(_value: Size): string {
    return output;
  }
  @Worker(resize, (config: ConfigService<{ RESIZE: number }, true>) => ({
    concurrency: config.get('RESIZE', { infer: true }),
  }))
  typedConfiguration(_value: Size): string {
    return output;
  }
  @Worker(resize, async (config: ConfigService) => ({
    concurrency: config.get<string>('RESIZE'),
    timeout: '30s',
  }))
  text(_value: Size): string {
    return output;
  }
  @Worker(resize, () => ({ enabled: process.env['RESIZE'] !== 'off' }))
  environment(_value: Size): string {
    return output;
  }
  @Worker(resize, {
    instance: 'legacy',
    inject: ['SETTINGS', { token: 'OTHER', optional: true }],
    useFactory: ({ width }: Size, other?: number) => ({ concurrency: width + (other ?? 0) }),
  })
  factory(_value: Size): string {
    return output;
  }
  @OnCreate(resize, (config: ConfigService) => ({ enabled: config.get<boolean>('AUDIT') }))
  configuredObserver(_value: JobEvent) {}
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
  // @ts-expect-error the output is a string, whatever makes the options
  @Worker(resize, (config: ConfigService) => ({ concurrency: config.get('RESIZE') }))
  configured(_value: Size): number {
    return 1;
  }
  // @ts-expect-error no option of these has this type
  @Worker(resize, () => ({ concurrency: true }))
  configuredType(_value: Size): string {
    return output;
  }
  // @ts-expect-error what has no get() is no configuration: it is injected with `inject`
  @Worker(resize, (config: Size) => ({ concurrency: config.width }))
  noConfiguration(_value: Size): string {
    return output;
  }
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

export class BatchHandlers {
  @Worker(resize, { batch: { size: 10, wait: '50ms' } })
  all(inputs: Size[], jobs: RunningJob<Size>[]): BatchOutcome<string>[] {
    return inputs.map(({ width }, index) => (width > 0 ? ok(`${width} ${jobs[index]?.id}`) : fail('none')));
  }
  @Worker(mail, { batch: { size: 10 }, concurrency: 2 })
  async noOutput(inputs: unknown[]): Promise<BatchOutcome<void>[]> {
    return inputs.map(() => ok());
  }
  @Worker('anything', { batch: { size: 10 } })
  untyped(inputs: unknown[]) {
    return inputs.map(() => later('10s'));
  }
  @Worker(resize, (config: ConfigService) => ({ batch: { size: config.get('SIZE') ?? 5 } }))
  configured(inputs: Size[]) {
    return inputs.map(() => ok('done'));
  }
  // @ts-expect-error the inputs are Sizes
  @Worker(resize, { batch: { size: 10 } })
  input(_inputs: string[]): BatchOutcome<string>[] {
    return [];
  }
  // @ts-expect-error it gets many inputs
  @Worker(resize, { batch: { size: 10 } })
  one(_input: Size): BatchOutcome<string>[] {
    return [];
  }
  // @ts-expect-error the output is a string
  @Worker(resize, { batch: { size: 10 } })
  output(inputs: Size[]): BatchOutcome<number>[] {
    return inputs.map(() => ok(1));
  }
  // @ts-expect-error it returns outcomes
  @Worker(resize, { batch: { size: 10 } })
  plain(inputs: Size[]): string[] {
    return inputs.map(() => output);
  }
  // @ts-expect-error without `batch` it returns an output
  @Worker(resize)
  noBatch(inputs: Size): BatchOutcome<string>[] {
    return [inputs].map(() => ok(output));
  }
}

/** Handlers that are added at run time. */
export async function added(workers: GearMonkeyWorkers): Promise<void> {
  const { stop } = await workers.add(resize, ({ width }, job) => `${width} ${job.id}`, { concurrency: 2 });
  await stop({ drain: '30s' });
  await workers.add(measure, async ({ text }) => text);
  await workers.add('anything', (_input, { fn }) => fn);
  await workers.add(resize, (inputs) => inputs.map(({ width }) => ok(`${width}`)), { batch: { size: 5 } });
  workers.set(resize, { concurrency: 0 });
  workers.set('anything', { concurrency: 3, instance: 'legacy' });
  // @ts-expect-error the output is a string
  await workers.add(resize, () => 1);
  // @ts-expect-error the input is a Size
  await workers.add(resize, (input: string) => input);
  // @ts-expect-error nothing else changes while the app runs
  workers.set(resize, { timeout: '1s' });
  // @ts-expect-error a handler is a function
  await workers.add(resize, 'handler');
}
