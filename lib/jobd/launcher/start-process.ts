import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { PosixSpawn } from './native/posix-spawn.js';
import type {
  OnOutput,
  ProcessSurroundings,
  StartedProcess,
  StartProcess,
} from '../vocabulary/started-process.js';

/** Whether to start processes with `posix_spawn` where it is available: on Linux, with the package koffi. */
export type UsePosixSpawn = 'auto' | false;

/** What `processStarter` uses here. */
export function processWay(posixSpawn: UsePosixSpawn = 'auto'): 'posix_spawn' | 'child_process' {
  return posixSpawn && PosixSpawn.open() ? 'posix_spawn' : 'child_process';
}

/** Uses the cheapest way on this system, and child_process for arguments that it doesn't support. */
export function processStarter(
  surroundings: ProcessSurroundings,
  posixSpawn: UsePosixSpawn = 'auto',
): StartProcess {
  const slow = nodeStarter(surroundings);
  const fast = posixSpawn ? PosixSpawn.open()?.starter(surroundings) : undefined;
  return fast ? (command, args) => fast(command, args) ?? slow(command, args) : slow;
}

/** With child_process: its cost grows with the memory of this process, whose page tables are copied. */
function nodeStarter({ cwd, env }: ProcessSurroundings): StartProcess {
  return (command, args) =>
    told(spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] }));
}

function told(child: ChildProcess): StartedProcess {
  const onOutput = (listener: OnOutput) => {
    for (const stream of ['stdout', 'stderr'] as const) {
      const output = child[stream]?.removeAllListeners('data');
      output?.on('data', (chunk: Buffer) => listener(stream, chunk));
    }
  };
  // A broken pipe ends the output; the exit of the process is reported separately.
  for (const output of [child.stdout, child.stderr]) output?.on('error', () => undefined);
  const letGo = () => {
    for (const output of [child.stdout, child.stderr]) (output as Socket | null)?.unref();
  };
  return Object.assign(child, { onOutput, letGo });
}
