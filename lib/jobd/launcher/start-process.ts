import { spawn } from 'node:child_process';
import { PosixSpawn } from './posix-spawn.js';
import type { ProcessSurroundings, StartProcess } from './started-process.js';

/** What `processStarter` uses here. */
export function processWay(): 'posix_spawn' | 'child_process' {
  return PosixSpawn.open() ? 'posix_spawn' : 'child_process';
}

/** The way that costs least here, and child_process for whatever that can't do. */
export function processStarter(surroundings: ProcessSurroundings): StartProcess {
  const slow = nodeStarter(surroundings);
  const fast = PosixSpawn.open()?.starter(surroundings);
  return fast ? (command, args) => fast(command, args) ?? slow(command, args) : slow;
}

/** With child_process: its cost grows with the memory of this process, whose page tables are copied. */
export function nodeStarter({ cwd, env }: ProcessSurroundings): StartProcess {
  return (command, args) =>
    spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
}
