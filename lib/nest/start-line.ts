import { excerpt } from '../job/secrets.js';
import type { HandlerBinding } from '../worker/job-handler.js';
import type { WorkerLog } from '../worker/worker-log.js';
import type { GearMonkeyInstance } from './gearmonkey.instance.js';

const MAX_ADDRESS = 200;
/** Functions that one line names; its fields have them all. */
const MAX_NAMED = 20;

/** One line for an instance that has started: where its jobs are, and what runs here. */
export function logStart(
  log: Required<WorkerLog>,
  { name, source }: GearMonkeyInstance,
  handlers: readonly HandlerBinding[],
): void {
  const functions = handlers.map(({ definition, limits }) => ({
    fn: definition.name,
    concurrency: limits.concurrency,
  }));
  const server = excerpt(source.address ?? 'a source of its own', MAX_ADDRESS);
  log.log(`"${name}" at ${server} ${runs(functions)}`, { instance: name, server, functions });
}

function runs(functions: readonly { fn: string; concurrency: number }[]): string {
  if (functions.length === 0) return 'runs no jobs here';
  const named = functions
    .slice(0, MAX_NAMED)
    .map(({ fn, concurrency }) => `${fn} (${concurrency} at a time)`);
  if (functions.length > MAX_NAMED) named.push(`${functions.length - MAX_NAMED} more`);
  return `runs ${named.join(', ')}`;
}
