import { ConfigError } from '../vocabulary/errors.js';
import { MAX_TARGET_LENGTH } from '../protocol/target-lists.js';
import type { IniSection } from './ini.js';

/** Concurrency by target. @throws ConfigError */
export function readTargetSection(section: IniSection): ReadonlyMap<string, number> {
  return new Map([...section].map(([target, value]) => [checkName(target), toConcurrency(target, value)]));
}

function checkName(target: string): string {
  if (target === 'null')
    throw new ConfigError("word 'null' is reserved, please don't use it as a target name");
  if (target === '' || target.length > MAX_TARGET_LENGTH) {
    throw new ConfigError(`a target's name must have 1 to ${MAX_TARGET_LENGTH} characters`);
  }
  return target;
}

function toConcurrency(target: string, value: unknown): number {
  const concurrency = typeof value === 'string' && value !== '' ? Number(value) : Number.NaN;
  if (Number.isNaN(concurrency)) throw new ConfigError(`value of target '${target}' must be a number`);
  if (!Number.isSafeInteger(concurrency) || concurrency <= 0) {
    throw new ConfigError(`target '${target}' has invalid value: it must be a whole number, 1 or more`);
  }
  return concurrency;
}
