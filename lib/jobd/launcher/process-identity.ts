import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Identifies a process and its machine. */
export interface ProcessIdentity {
  /** Equal for processes that can see each other: one boot, one host name, one PID namespace. Empty if unknown. */
  readonly machine: string;
  /** Its id and start time, since ids are reused. */
  readonly process: string;
}

/** How others can find this process. */
export function ownIdentity(): ProcessIdentity {
  return { machine: machine(), process: processName(process.pid) ?? '' };
}

/** Whether a process can be seen from here. */
export function isLocal({ machine: place }: ProcessIdentity): boolean {
  return place !== '' && place === machine();
}

/** Whether a process has certainly ended. False if that is unknown. */
export function isGone(identity: ProcessIdentity): boolean {
  const { process: name } = identity;
  if (!isLocal(identity)) return false;
  const pid = Number(/^(\d+)@/.exec(name)?.[1]);
  return pid > 0 && processName(pid) !== name;
}

function machine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const parts = [hostname(), boot, readlinkSync('/proc/self/ns/pid')];
    return createHash('sha256').update(parts.join('\n')).digest('hex');
  } catch {
    return '';
  }
}

/** Undefined for a process that has ended or is a zombie. */
function processName(pid: number): string | undefined {
  try {
    // After the command, which may hold anything in its parentheses: the state, and 19 fields on the start.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
    return fields[0] === 'Z' ? undefined : `${pid}@${fields[19]}`;
  } catch {
    return undefined;
  }
}
