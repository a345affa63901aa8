/** @isolated The lines of an app would name the decorated classes of suites before it. */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  ConsoleLogger,
  Injectable,
  Logger,
  Module,
  type INestApplicationContext,
  type LoggerService,
  type ModuleMetadata,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Logger as PinoLogger, LoggerModule, NativeLogger } from 'nestjs-pino';
import { once } from 'node:events';
import {
  GearMonkeyClient,
  GearMonkeyModule,
  OnCreate,
  RetryLaterError,
  Worker,
  type ErrorDetail,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { eventually } from '../support/until.js';

const EVIL = 'no\n2026 ERROR [Bank] forged\u001b[2J';
const retry = { attempts: 2, backoff: 'fixed', delay: 1, jitter: 0 } as const;

@Injectable()
class Handlers {
  @Worker('fails', { retry, concurrency: 3 })
  fails() {
    throw new RangeError(EVIL);
  }
  @Worker('later')
  later(_: unknown, { attempts }: RunningJob) {
    if (attempts === 1) throw new RetryLaterError(1);
  }
  @Worker('hangs', { timeout: 20 })
  hangs(_: unknown, { signal }: RunningJob) {
    return once(signal, 'abort').then(() => Promise.reject(signal.reason));
  }
  @Worker('waits')
  async waits(_: unknown, { signal }: RunningJob) {
    await once(signal, 'abort');
    throw signal.reason;
  }
  @OnCreate('audited')
  observe() {
    throw new Error('no audit');
  }
}

let app: INestApplicationContext | undefined;
const spies: { mockRestore(): void }[] = [];

afterEach(async () => {
  await app?.close();
  app = undefined;
  for (const spy of spies.splice(0)) spy.mockRestore();
  Logger.overrideLogger(new ConsoleLogger());
});

/** What the app writes to its two streams, line by line. */
function written(): string[] {
  const lines: string[] = [];
  for (const stream of [process.stdout, process.stderr]) {
    const spy = jest.spyOn(stream, 'write').mockImplementation((text) => {
      lines.push(...String(text).split('\n').slice(0, -1));
      return true;
    });
    spies.push(spy);
  }
  return lines;
}

function rootModule(metadata: ModuleMetadata, errorDetail?: ErrorDetail) {
  @Module({
    ...metadata,
    imports: [
      GearMonkeyModule.forRoot({
        connection: 'memory:',
        shutdownTimeout: 50,
        ...(errorDetail && { errorDetail }),
      }),
      ...(metadata.imports ?? []),
    ],
    providers: [Handlers],
  })
  class App {}
  return App;
}

/** An app with this logger from its start. */
async function start(logger: LoggerService, errorDetail?: ErrorDetail): Promise<GearMonkeyClient> {
  app = await NestFactory.createApplicationContext(rootModule({}, errorDetail), {
    logger,
    abortOnError: false,
  });
  return app.get(GearMonkeyClient);
}

async function endOf(client: GearMonkeyClient, fn: string): Promise<void> {
  await client.run(fn, null, { blocking: true, timeout: '10s' });
}

/** Records of a JSON logger that this package wrote. */
function recordsOf(lines: readonly string[]): Record<string, unknown>[] {
  return lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ context }) => context === 'GearMonkey');
}

const START =
  '"default" at memory: runs fails (3 at a time), later (1 at a time), hangs (1 at a time), waits (1 at a time)';
const [FIRST, LAST] = [
  'fails 1 failed (attempt 1 of 2, next in 1 ms)',
  'fails 1 failed for good (attempt 2 of 2)',
].map((line) => `${line}: RangeError: no\\n2026 ERROR [Bank] forged\\u001b[2J`);
const FIELDS = {
  fn: 'fails',
  id: '1',
  attempt: 1,
  attempts: 2,
  error: { name: 'RangeError', message: 'no\\n2026 ERROR [Bank] forged\\u001b[2J' },
  next: 'retry',
  delay: 1,
};
const { delay: _, ...LAST_FIELDS } = { ...FIELDS, attempt: 2, next: 'fail' };
const STARTED = {
  instance: 'default',
  server: 'memory:',
  functions: ['fails', 'later', 'hangs', 'waits'].map((fn) => ({ fn, concurrency: fn === 'fails' ? 3 : 1 })),
};

describe("Nest's console", () => {
  const plain = () => new ConsoleLogger({ colors: false, logLevels: ['log', 'warn', 'error'] });
  /** Of all that was written, what is ours or looks like a stack, from the level on. */
  const ours = (lines: readonly string[]) =>
    lines
      .filter((line) => /\[GearMonkey\]|^\s+at /.test(line))
      .map((line) => line.replace(/^.*?((?:LOG|WARN|ERROR) \[)/, '$1'));

  it('has one line for the start and for each attempt, and no stack', async () => {
    const lines = written();
    await endOf(await start(plain()), 'fails');
    expect(ours(lines)).toEqual([
      `LOG [GearMonkey] ${START}`,
      `WARN [GearMonkey] ${FIRST}`,
      `ERROR [GearMonkey] ${LAST}`,
    ]);
  });

  it('has nothing of a job that was put off or cancelled, and a line without a stack of one that ran too long', async () => {
    const lines = written();
    const client = await start(plain());
    await endOf(client, 'later');
    await endOf(client, 'hangs');
    const job = await client.run('waits', null);
    await eventually(async () => expect((await job.get())?.state).toBe('running'));
    await client.cancel('waits', job.id);
    await eventually(async () => expect((await job.get())?.state).toBe('cancelled'));
    expect(ours(lines).slice(1)).toEqual([
      'ERROR [GearMonkey] hangs 1 failed for good (attempt 1 of 1): JobTimeoutError: Job 1 of "hangs" ran longer than its timeout of 20 ms.',
    ]);
  });

  it('says which jobs an app that closes gives back', async () => {
    const lines = written();
    const client = await start(plain());
    const job = await client.run('waits', null);
    await eventually(async () => expect((await job.get())?.state).toBe('running'));
    await app?.close();
    expect(ours(lines).slice(1)).toEqual([
      'LOG [GearMonkey] Waits up to 50 ms for running jobs: waits 1',
      'LOG [GearMonkey] Gave back jobs that still ran: waits 1',
    ]);
  });

  it('has stacks at the level debug, whose lines are indented', async () => {
    const lines = written();
    const client = await start(new ConsoleLogger({ colors: false, logLevels: ['debug'] }));
    await endOf(client, 'fails');
    const [first, frame] = lines.slice(lines.findIndex((line) => line.includes('(attempt 1): ')));
    expect(first).toMatch(/DEBUG \[GearMonkey\] fails 1 \(attempt 1\): RangeError: no\\n2026 ERROR/);
    expect(frame).toMatch(/^ {4}at Handlers\.fails /);
    expect(lines.filter((line) => /^(?! {4}at|\[Nest\]|\(.*node)/.test(line))).toEqual([]);
  });

  it("has them behind each line with errorDetail: 'stack', and nowhere with 'message'", async () => {
    const lines = written();
    await endOf(await start(plain(), 'stack'), 'fails');
    expect(lines.filter((line) => /^ {4}at Handlers\.fails /.test(line))).toHaveLength(2);
    await app?.close();
    lines.length = 0;
    const everything = new ConsoleLogger({ colors: false, logLevels: ['debug', 'log', 'warn', 'error'] });
    await endOf(await start(everything, 'message'), 'fails');
    expect(lines.filter((line) => /^ {4}at /.test(line))).toEqual([]);
  });
});

describe("Nest's JSON logger", () => {
  it('has the line as the message and its values as params', async () => {
    const lines = written();
    await endOf(await start(new ConsoleLogger({ json: true, logLevels: ['log', 'warn', 'error'] })), 'fails');
    const records = recordsOf(lines);
    expect(records).toEqual([
      expect.objectContaining({ level: 'log', message: START, params: STARTED }),
      expect.objectContaining({ level: 'warn', message: FIRST, params: FIELDS }),
      expect.objectContaining({
        level: 'error',
        message: LAST,
        params: LAST_FIELDS,
      }),
    ]);
  });

  it('has them at the top with flattenParams', async () => {
    const lines = written();
    const logger = new ConsoleLogger({ json: true, flattenParams: true, logLevels: ['warn'] });
    await endOf(await start(logger), 'fails');
    expect(recordsOf(lines)).toEqual([
      expect.objectContaining({ message: FIRST, ...FIELDS }),
      expect.objectContaining({ message: LAST, ...LAST_FIELDS }),
    ]);
  });

  it('has a stack as a field', async () => {
    const lines = written();
    await endOf(await start(new ConsoleLogger({ json: true, logLevels: ['warn'] }), 'stack'), 'fails');
    expect(recordsOf(lines)[0]).toEqual(
      expect.objectContaining({
        message: FIRST,
        params: expect.objectContaining({
          error: expect.objectContaining({ stack: expect.stringMatching(/^ {4}at Handlers\.fails /) }),
        }),
      }),
    );
  });
});

describe('nestjs-pino', () => {
  // It keeps the first stream that it was given in a process.
  const records: Record<string, unknown>[] = [];
  const stream = { write: (line: string) => void records.push(JSON.parse(line) as Record<string, unknown>) };

  /** An app whose lines are kept until its logger is known, as its documents have it. */
  async function startWith(
    logger: typeof PinoLogger | typeof NativeLogger,
  ): Promise<Record<string, unknown>[]> {
    records.length = 0;
    const root = rootModule({ imports: [LoggerModule.forRoot({ pinoHttp: [{ level: 'info' }, stream] })] });
    // Its handlers run before `useLogger`.
    app = await NestFactory.createApplicationContext(root, { bufferLogs: true, abortOnError: false });
    await endOf(app.get(GearMonkeyClient), 'fails');
    app.useLogger(app.get(logger));
    return records.filter(({ context }) => context === 'GearMonkey');
  }

  it('has the values at the top, also of lines from before it was there', async () => {
    await expect(startWith(PinoLogger)).resolves.toEqual([
      expect.objectContaining({ level: 30, msg: START, ...STARTED }),
      expect.objectContaining({ level: 40, msg: FIRST, ...FIELDS }),
      expect.objectContaining({ level: 50, msg: LAST, fn: 'fails', id: '1', attempt: 2, next: 'fail' }),
    ]);
  });

  it('has them as params with its NativeLogger', async () => {
    await expect(startWith(NativeLogger)).resolves.toEqual([
      expect.objectContaining({ level: 30, msg: START, params: STARTED }),
      expect.objectContaining({ level: 40, msg: FIRST, params: FIELDS }),
      expect.objectContaining({ level: 50, msg: LAST }),
    ]);
  });
});

describe('Any other logger', () => {
  const kept: unknown[][] = [];
  const keep = (...parts: unknown[]) => void kept.push(parts);
  const other: LoggerService = { log: keep, warn: keep, error: keep };

  it('gets an object with the fields and the message, which is the line where it is made text', async () => {
    kept.length = 0;
    await endOf(await start(other), 'fails');
    const warning = kept.find(([first]) => String(first).startsWith('fails')) ?? [];
    expect(String(warning[0])).toBe(FIRST);
    expect({ ...(warning[0] as object) }).toEqual(FIELDS);
    expect(warning[0]).toHaveProperty('message', FIRST);
    expect(JSON.parse(JSON.stringify(warning[0]))).toEqual({ message: FIRST, ...FIELDS });
    expect(warning.at(-1)).toBe('GearMonkey');
  });

  it('may throw: jobs, observers and the app go on, and the process is warned once', async () => {
    let isBroken = false;
    const said: unknown[] = [];
    const write = (line: unknown) => {
      said.push(line);
      if (isBroken) throw new Error('disk full');
    };
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    spies.push(warn);
    const client = await start({ log: write, warn: write, error: write, debug: write });
    isBroken = true;
    for (let job = 0; job < 5; job++) await endOf(client, 'fails');
    const job = await client.run('waits', null);
    await eventually(async () => expect((await job.get())?.state).toBe('running'));
    await app?.close();
    expect(warn.mock.calls).toEqual([
      ['The logger of nestjs-gearmonkey threw, and lines are missing: disk full'],
    ]);
    isBroken = false;
    const other = await start({ log: write, warn: write, error: write, debug: write });
    isBroken = true;
    await other.run('audited', null);
    await eventually(() => expect(said.map(String)).toContain('Handlers.observe failed: Error: no audit'));
    await endOf(other, 'fails');
  });

  it('may be none at all', async () => {
    app = await NestFactory.createApplicationContext(rootModule({}), { logger: false });
    await endOf(app.get(GearMonkeyClient), 'fails');
  });
});
