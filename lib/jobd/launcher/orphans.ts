import { readdirSync, readFileSync } from 'node:fs';

/** The environment variable that names the daemon to a job's process and to all its children. */
export const ORPHAN_MARK = 'JOBD_INSTANCE';

/**
 * Ends the processes that a daemon of this machine left behind when it died, so that their jobs aren't run
 * beside them. Linux only: elsewhere nothing is found.
 *
 * @returns how many there were
 */
export function killOrphans(instance: string): number {
  const mark = `${ORPHAN_MARK}=${instance}`;
  const orphans = processIds().filter((pid) => pid !== process.pid && environmentOf(pid).includes(mark));
  return orphans.filter(kill).length;
}

function processIds(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Empty for processes of other users, and for those that have ended. */
function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
  } catch {
    return [];
  }
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
