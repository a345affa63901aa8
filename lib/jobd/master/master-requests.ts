import { memoryUsage } from 'node:process';
import { RequestError } from '../vocabulary/errors.js';
import type { Peer } from '../protocol/peer.js';
import { toHandlers, type RequestArguments, type RequestHandlers } from '../protocol/request-handlers.js';
import { readOptionalTargets, readTargets } from '../protocol/target-lists.js';
import { readJobs, runManual, type JobAddress } from './manual-jobs.js';
import type { PokeThrottle } from './poke-throttle.js';
import { sendSignals, SIGNAL, type SignalledJob } from './signals.js';
import type { WorkerRegistry } from './worker-registry.js';
import { forward, listWorkers } from './worker-states.js';

const OK = 'ok';
const MAX_NAME_LENGTH = 255;

/** Takes a registration. */
export type Register = (connection: Peer, name: string, targets: readonly string[]) => void;

/** The requests that a master serves, as the protocol lists them. */
export function masterRequests(
  registry: WorkerRegistry,
  throttle: PokeThrottle,
  register: Register,
): RequestHandlers {
  const ok = (_done: void) => OK;
  return toHandlers({
    'register-worker': ({ name, targets }, from) => ok(register(from, readName(name), readTargets(targets))),
    poke: ({ targets }) => ok(throttle.add(readTargets(targets))),
    pause: (args) => forward(registry, 'pause', readOptionalTargets(args)).then(ok),
    continue: (args) => forward(registry, 'continue', readOptionalTargets(args)).then(ok),
    status: (args) => status(registry, args),
    'run-manual': (args) => runManual(registry, readJobs<JobAddress>(args)),
    'send-signal': (args) => sendSignals(registry, readJobs<SignalledJob>(args, [SIGNAL])),
  });
}

function readName(name: unknown): string {
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_LENGTH) {
    throw new RequestError('name is missing or invalid');
  }
  return name;
}

async function status(registry: WorkerRegistry, args: RequestArguments): Promise<object> {
  const workers = await listWorkers(registry, Boolean(args['poll_workers']));
  return { workers, memoryUsage: memoryUsage() };
}
