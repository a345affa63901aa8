import { withDeadline } from '../../job/clock.js';
import { PeerLostError } from '../vocabulary/errors.js';
import type { ManualReply } from '../protocol/job-results.js';
import * as reports from './reports.js';
import type { Report, StatusReply } from './reports.js';
import { constants } from 'node:os';
import { UsageError } from './usage-error.js';
import type { JobAddress } from '../master/manual-jobs.js';

/** Asks the daemon or master. */
export type Ask = (type: string, data?: object) => Promise<unknown>;

type Arguments = readonly string[];
type Run = (ask: Ask, args: Arguments) => Promise<Report>;

/** One of jobctl's commands. */
export interface Command {
  /** Name and arguments, as its help shows them. */
  readonly usage: string;
  readonly summary: string;
  /** Whether `--all` may stand in place of targets. */
  readonly takesAll?: boolean;
  /** The request to a worker … */
  readonly worker?: Run;
  /** … and to a master. */
  readonly master?: Run;
}

/** Longer than our master waits for its workers. */
const MASTER_MS = 10_000;

const memoryUsage = report('status', reports.memoryReport);
const pause = act('pause', targets);
const goOn = act('continue', targets);
const ofMaster = 'An original master answers neither pause nor continue: it has passed them on.';
const pauseAll = within(MASTER_MS, ofMaster, pause);
const goOnAll = within(MASTER_MS, ofMaster, goOn);
const setConcurrency = act('set-target-concurrency', targetAndConcurrency);
const addTarget = act('add-target', targetAndConcurrency);
const removeTarget = act('remove-target', ([target]) => ({ target }));

/** jobctl's commands, as its help lists them. On a master, jobs are named with their targets. */
export const COMMANDS: readonly Command[] = [
  {
    usage: 'list-targets',
    summary: 'targets and their queues',
    worker: report('status', reports.targetsReport),
  },
  { usage: 'list-workers', summary: 'workers, their targets and queues', master: listWorkers },
  { usage: 'memory-usage', summary: 'memory of the process', worker: memoryUsage, master: memoryUsage },
  { usage: 'poll [targets...]', summary: 'look for new jobs', takesAll: true, worker: act('poll', targets) },
  { usage: 'poke <targets...>', summary: 'have workers look for new jobs', master: act('poke', targets) },
  {
    usage: 'pause [targets...]',
    summary: 'start no more jobs',
    takesAll: true,
    worker: pause,
    master: pauseAll,
  },
  { usage: 'continue [targets...]', summary: 'end a pause', takesAll: true, worker: goOn, master: goOnAll },
  {
    usage: 'set-target-concurrency <target> <n>',
    summary: 'how many jobs run at once',
    worker: setConcurrency,
  },
  { usage: 'add-target <target> <n>', summary: 'serve a further target', worker: addTarget },
  { usage: 'remove-target <target>', summary: 'serve a target no more', worker: removeTarget },
  {
    usage: 'run-manual <jobs...>',
    summary: 'run manual jobs and wait for them',
    worker: runManual((ids) => ({ ids: ids.map(toId) })),
    master: runManual((jobs) => ({ jobs: jobs.map(toAddress) })),
  },
  {
    usage: 'send-signal <signal> <jobs...>',
    summary: 'signal running jobs',
    worker: signal((number, ids) => ({ jobs: Object.fromEntries(ids.map((id) => [toId(id), number])) })),
    master: signal((number, jobs) => ({ jobs: jobs.map((job) => ({ ...toAddress(job), signal: number })) })),
  },
];

/** For requests that may never be answered. @throws PeerLostError after the timeout */
function within(ms: number, remedy: string, run: Run): Run {
  const late = () => new PeerLostError(`no reply within ${ms / 1000} s. ${remedy}`);
  return (ask, args) => withDeadline(run(ask, args), ms, late);
}

/** For commands that only need the reply `ok`. */
function act(type: string, dataOf: (args: Arguments) => object | undefined): Run {
  return async (ask, args) => {
    const data = await ask(type, dataOf(args));
    return { data, text: 'ok' };
  };
}

function report(type: string, render: (reply: StatusReply) => Report): Run {
  return async (ask) => render((await ask(type)) as StatusReply);
}

async function listWorkers(ask: Ask): Promise<Report> {
  return reports.workersReport((await ask('status', { poll_workers: true })) as StatusReply);
}

function runManual(dataOf: (args: Arguments) => object): Run {
  return async (ask, args) => reports.manualReport((await ask('run-manual', dataOf(args))) as ManualReply);
}

function signal(dataOf: (number: number, args: Arguments) => object): Run {
  return async (ask, [name = '', ...args]) => {
    const reply = await ask('send-signal', dataOf(toSignal(name), args));
    return reports.signalReport(reply as Record<string, unknown>);
  };
}

/** No targets mean all: jobctl has insisted on `--all` then. */
function targets(names: Arguments): object | undefined {
  return names.length > 0 ? { targets: names } : undefined;
}

function targetAndConcurrency([target = '', concurrency = '']: Arguments): object {
  return { target, concurrency: toConcurrency(concurrency) };
}

/** `12`, for a worker. @throws UsageError */
function toId(text: string): number {
  const id = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw new UsageError(`'${text}' is not a job's id`);
  return id;
}

/** `12:low`, for a master, which must know the job's target. @throws UsageError */
function toAddress(text: string): JobAddress {
  const [id = '', ...target] = text.split(':');
  if (target.length === 0) throw new UsageError(`'${text}' must be a job's id and target, such as 12:low`);
  return { id: toId(id), target: target.join(':') };
}

/** `TERM`, `SIGTERM` or `15`, as the number that every daemon understands. @throws UsageError */
function toSignal(text: string): number {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const name = text.toUpperCase().replace(/^(?!SIG)/, 'SIG');
  const number = new Map<string, number>(Object.entries(constants.signals)).get(name);
  if (number === undefined) throw new UsageError(`'${text}' is not a signal, such as TERM or 15`);
  return number;
}

function toConcurrency(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) === 0)
    throw new UsageError(`'${text}' is not a concurrency of 1 or more`);
  return Number(text);
}
