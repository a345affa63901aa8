import { InvalidOptionError } from '../../job/errors.js';

/** Each queue once, in the order given. @throws InvalidOptionError unless they are names, one at least */
export function checkQueues(queues: unknown): string[] {
  if (Array.isArray(queues) && queues.length > 0 && queues.every(isName)) return [...new Set(queues)];
  throw new InvalidOptionError('queues', queues, 'names of queues, one at least');
}

/** @throws InvalidOptionError */
export function checkPopping(popping: 'ordered' | 'round-robin'): 'ordered' | 'round-robin' {
  if (popping === 'ordered' || popping === 'round-robin') return popping;
  throw new InvalidOptionError('popping', popping, "'ordered' or 'round-robin'");
}

export function isName(name: unknown): name is string {
  return typeof name === 'string' && name !== '';
}
