import { accessSync, constants, statSync } from 'node:fs';
import { checkWhole } from '../../job/check-whole.js';
import { defined } from '../../job/defined.js';
import { millisecondsOr, type Duration } from '../../job/duration.js';
import { reasonOf } from '../../job/error-info.js';
import { InvalidOptionError } from '../../job/errors.js';
import type { JobResult } from '../vocabulary/job-result.js';
import { JobProcess, type JobProcessOptions } from './job-process.js';
import { isShortage } from './shortage.js';
import { ORPHAN_MARK } from './orphans.js';
import { processStarter, type UsePosixSpawn } from './start-process.js';
import type { StartedProcess, StartProcess } from '../vocabulary/started-process.js';

/** How processes are started and ended. */
export interface LauncherOptions {
  /** The command, split on spaces; `{id}` is the job's. */
  readonly launcher: string;
  /** @default the daemon's */
  readonly cwd?: string;
  /** Added to the daemon's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** How many bytes of stdout are kept, and of stderr each. @default 1_048_576 */
  readonly maxOutputBuffer?: number;
  /** How long children may hold the output open after the process has ended. @default '1s' */
  readonly outputGrace?: Duration;
  /** How long a process may take to end after SIGTERM, before SIGKILL. @default '5s' */
  readonly killGrace?: Duration;
  /**
   * Starts processes with `posix_spawn` of the C library on Linux where the package `koffi` is installed, and with Node's
   * child_process elsewhere; `false`: with child_process only. @default 'auto'
   */
  readonly posixSpawn?: UsePosixSpawn;
}

const DEFAULT_OUTPUT_BYTES = 1_048_576;

/** A running process. */
export interface LaunchedJob {
  /** Never rejects. */
  readonly result: Promise<JobResult>;
  /** Sends it to the process and its children. False if it has ended, or there is no such signal. */
  signal(signal: string | number): boolean;
  /** SIGTERM, then SIGKILL after the grace; `why` is added to stderr. False if it is ending already. */
  terminate(why: string): boolean;
}

/** Starts a process for each job. */
export class Launcher {
  private start: StartProcess;
  private readonly graces: Pick<JobProcessOptions, 'outputGrace' | 'killGrace'>;

  /** @param instance marks the processes, so that they can be found after the daemon has died */
  constructor(
    private readonly options: LauncherOptions,
    instance: string,
  ) {
    checkOptions(options);
    this.graces = {
      outputGrace: millisecondsOr('1s', 'outputGrace', options.outputGrace, { least: 0 }),
      killGrace: millisecondsOr('5s', 'killGrace', options.killGrace, { least: 0 }),
    };
    this.start = this.starting(instance);
  }

  /** Changes the mark for processes started from now on. */
  mark(instance: string): void {
    this.start = this.starting(instance);
  }

  /** @param timeout milliseconds after which the process is terminated */
  launch(id: number, timeout?: number): LaunchedJob {
    const [command = '', ...args] = commandOf(this.options.launcher, id);
    const { maxOutputBuffer = DEFAULT_OUTPUT_BYTES } = this.options;
    let child: StartedProcess;
    try {
      child = this.start(command, args);
    } catch (error) {
      return neverStarted(this.failure(command, error), isShortage(error));
    }
    return new JobProcess(child, {
      maxOutputBuffer,
      ...this.graces,
      timeout,
      describeFailure: (error) => this.failure(command, error),
    });
  }

  private starting(instance: string): StartProcess {
    const { cwd, env: own, posixSpawn } = this.options;
    return processStarter({ cwd, env: { ...process.env, ...own, [ORPHAN_MARK]: instance } }, posixSpawn);
  }

  /** Node's error names the command even if the directory is missing. */
  private failure(command: string, error: unknown): string {
    const { cwd } = this.options;
    const why = cwd === undefined ? undefined : whyNoDirectory(cwd);
    if (why !== undefined)
      return `The job can't be started: its working directory '${cwd}' ${why}, or change launcher.cwd.`;
    return `The job can't be started: ${reasonOf(error)}. Check that '${command}' is there and may be executed.`;
  }
}

/** A job for which no process was started. */
export function neverStarted(stderr: string, isShort = false): LaunchedJob {
  const result: JobResult = defined({
    ...{ result: 'fail', code: null, signal: null, stdout: '', stderr },
    isShort: isShort || undefined,
  });
  return { result: Promise.resolve(result), signal: () => false, terminate: () => false };
}

/** Why no process can start in it; undefined if one can. The check itself may fail, for instance without the rights. */
function whyNoDirectory(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return "doesn't exist. Create it";
    if (!found.isDirectory()) return 'is no directory. Name one';
    accessSync(path, constants.X_OK);
    return undefined;
  } catch (error) {
    return `can't be used: ${reasonOf(error)}. Let the daemon's user enter it`;
  }
}

/** @throws InvalidOptionError */
function checkOptions(options: LauncherOptions): void {
  const { launcher, cwd, maxOutputBuffer: bytes, posixSpawn = 'auto' } = options;
  if (typeof launcher !== 'string' || launcher.trim() === '')
    throw new InvalidOptionError('launcher', launcher, "a command such as 'php launcher.php {id}'");
  if (launcher.includes('\0') || cwd?.includes('\0'))
    throw new InvalidOptionError('launcher', launcher, 'a command without NUL characters');
  if (posixSpawn !== 'auto' && posixSpawn !== false)
    throw new InvalidOptionError('posixSpawn', posixSpawn, "'auto' or false");
  if (bytes !== undefined) checkWhole('maxOutputBuffer', bytes, 0);
}

/** The command of a job: `{id}` replaced everywhere, then split on spaces. No shell, no quotes. */
export function commandOf(template: string, id: number): string[] {
  return template.replaceAll('{id}', String(id)).split(' ').filter(Boolean);
}
