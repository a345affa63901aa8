import type { Observable } from 'rxjs';
import type { GearMonkeyClient, Job, JobEvent, JobHandle, JobProgress } from 'nestjs-gearmonkey';
import { mail, measure, resize, same, type Size } from './definitions.js';

/** Never called: it only has to compile. */
export async function client(jobs: GearMonkeyClient): Promise<void> {
  const size: Size = { width: 1, height: 2 };

  const handle = await jobs.run(resize, size, { priority: 'high', rollCall: true });
  same<typeof handle, JobHandle<typeof resize>>();
  const result = await handle.result();
  same<typeof result, string>();
  const read = await handle.get();
  same<typeof read, Job<Size, string>>();
  // @ts-expect-error the input of another job
  await jobs.run(resize, { to: 'a@b.org' });
  // @ts-expect-error a part of the input
  await jobs.run(resize, { width: 1 });
  // @ts-expect-error no such priority
  await jobs.run(resize, size, { priority: 'urgent' });

  const output = await jobs.call(resize, size, { timeout: '30s' });
  same<typeof output, string>();
  // @ts-expect-error `call` always waits
  await jobs.call(resize, size, { blocking: true });
  // @ts-expect-error the output is a string
  const wrong: number = await jobs.call(resize, size);

  await jobs.run(resize, size, { scheduled: new Date(), jobTimeout: '1m' });
  await jobs.run(resize, size, { delay: 500 });
  await jobs.runMany(resize, [size], { delay: '30s' });
  // @ts-expect-error a span is `delay`
  await jobs.run(resize, size, { scheduled: 30 });
  // @ts-expect-error a point in time is a Date
  await jobs.run(resize, size, { scheduled: '2027-01-01' });
  // @ts-expect-error a point in time is `scheduled`
  await jobs.run(resize, size, { delay: new Date() });
  // @ts-expect-error a duration is a number or text
  await jobs.call(resize, size, { timeout: 5n });
  // @ts-expect-error `result` waits for a span
  await handle.result({ timeout: new Date() });

  const handles = await jobs.runMany(resize, [size, size]);
  same<typeof handles, JobHandle<typeof resize>[]>();
  // @ts-expect-error one of the inputs
  await jobs.runMany(resize, [size, 'large']);

  const { created } = await jobs.run(resize, size, { unique: { key: 'key', debounce: '1s' } });
  same<typeof created, boolean>();
  await jobs.runMany(resize, [size], { unique: { key: ({ width }) => `${width}`, throttle: 500 } });
  await jobs.call('resize', size, { unique: { key: (input) => String(input), while: 'waiting' } });
  await jobs.run(resize, size, { unique: false });
  // @ts-expect-error the input has no such property
  await jobs.run(resize, size, { unique: { key: ({ depth }) => `${depth}` } });
  // @ts-expect-error a key is text
  await jobs.run(resize, size, { unique: { key: ({ width }) => width } });
  // @ts-expect-error there is no key
  await jobs.run(resize, size, { unique: { throttle: '10s' } });
  // @ts-expect-error no such state
  await jobs.run(resize, size, { unique: { key: 'key', while: 'running' } });

  await jobs.update(resize, 7, { input: size, priority: 'low' });
  await handle.update({ delay: '1h' });
  // @ts-expect-error the input of another job
  await jobs.update(resize, 7, { input: { to: 'a@b.org' } });
  // @ts-expect-error a part of the input
  await handle.update({ input: { width: 1 } });
  // @ts-expect-error retry options stay
  await handle.update({ retry: { attempts: 2 } });
  const drained = await jobs.drain(resize, { states: ['waiting', 'retrying'] });
  same<typeof drained, number>();
  // @ts-expect-error running jobs are cancelled
  await jobs.drain(resize, { states: ['running'] });
  const paused = jobs.watchPaused(resize);
  same<typeof paused, Observable<boolean>>();

  const found = await jobs.get(resize, 7);
  same<typeof found, Job<Size, string> | null>();
  const waited = await jobs.result(resize, '7', { timeout: '1s' });
  same<typeof waited, string>();
  const watched = jobs.watch(resize, 7);
  same<typeof watched, Observable<Job<Size, string>>>();
  const events = jobs.events(resize);
  same<typeof events, Observable<JobEvent>>();
  const progress = jobs.progress(resize, 7);
  same<typeof progress, Observable<JobProgress>>();
  // @ts-expect-error neither a name nor a definition
  jobs.watch({}, 7);

  await jobs.call(measure, { text: 'four' }).then((centimetres) => centimetres.toUpperCase());
  // @ts-expect-error the parsed type is the handler's
  await jobs.run(measure, { text: 4 });
  await jobs.run(mail, { to: 'a@b.org' });
  // @ts-expect-error a schema's input
  await jobs.run(mail, { to: 1 });

  const unknownOutput = await jobs.call('anything', { any: ['input'] });
  same<typeof unknownOutput, unknown>();
  void [wrong];
}
