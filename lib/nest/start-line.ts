import { excerpt } from '../job/secrets.js';
import { defined } from '../job/defined.js';
import type { WorkerLog } from '../worker/worker-log.js';
import type { GearMonkeyInstance } from './gearmonkey.instance.js';

const MAX_ADDRESS = 200;
/** How many functions the line names; its fields have all of them. */
const MAX_NAMED = 20;

/** The functions that an instance runs in this process, and those that it leaves out. */
export interface StartedWorkers {
  readonly functions: readonly { readonly fn: string; readonly concurrency: number }[];
  readonly leftOut: readonly string[];
  /** The option or variable that decides this. */
  readonly saidBy: string;
}

/** Logs one line when an instance has started: its server and its functions. */
export function logStart(
  log: Required<WorkerLog>,
  { name, source }: GearMonkeyInstance,
  { functions, leftOut, saidBy }: StartedWorkers,
): void {
  const server = excerpt(source.address ?? 'a source of its own', MAX_ADDRESS);
  const without = leftOut.length > 0 ? `; ${saidBy} leaves out ${listed(leftOut)}` : '';
  const fields = defined({ instance: name, server, functions, leftOut: without ? leftOut : undefined });
  log.log(`"${name}" at ${server} ${runs(functions)}${without}`, fields);
}

function runs(functions: StartedWorkers['functions']): string {
  if (functions.length === 0) return 'runs no jobs here';
  return `runs ${listed(functions.map(({ fn, concurrency }) => `${fn} (${concurrency} at a time)`))}`;
}

function listed(names: readonly string[]): string {
  const named = names.slice(0, MAX_NAMED);
  if (names.length > MAX_NAMED) named.push(`${names.length - MAX_NAMED} more`);
  return named.join(', ');
}
