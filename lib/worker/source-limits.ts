import { read, type Codec } from '../job/codec.js';
import { ConfigurationError } from '../job/errors.js';
import type { JobSource } from '../job/job-source.js';
import type { HandlerBinding } from './job-handler.js';

/**
 * Gives a source the limits of functions, before it is opened for them. Keys are made from inputs as they were sent: schemas
 * are not applied.
 *
 * @throws ConfigurationError if the jobs' system has no limits
 */
export function giveLimits(
  source: Pick<JobSource, 'address' | 'capabilities' | 'setLimit'>,
  bindings: readonly HandlerBinding[],
  moduleCodec: Codec,
): void {
  for (const { definition, limits } of bindings) {
    const { limit } = limits;
    if (!limit) continue;
    const { name, codec = moduleCodec } = definition;
    if (!source.capabilities.limits || !source.setLimit) throw withoutLimits(name, source.address);
    const keyOf = (input: Uint8Array) => limit.keyOf(read(codec, name, 'input', input));
    source.setLimit(name, { rules: limit.rules, keyOf });
  }
}

/**
 * Tells a source how long ended jobs can be read, before it is opened for their functions.
 *
 * @throws ConfigurationError if the jobs' system decides that itself
 */
export function giveKeep(
  source: Pick<JobSource, 'address' | 'setKeep'>,
  bindings: readonly HandlerBinding[],
): void {
  for (const { definition } of bindings) {
    const { name, keep } = definition;
    if (keep && !source.setKeep) throw withoutKeep(name, source.address);
    source.setKeep?.(name, keep ?? {});
  }
}

function withoutKeep(fn: string, address = 'this source'): ConfigurationError {
  return new ConfigurationError(
    `"${fn}" has \`keep\`, which is for jobs of GearMonkey and memory, not of ${address}. Remove it: that system has a setting of its own.`,
  );
}

function withoutLimits(fn: string, address = 'this source'): ConfigurationError {
  return new ConfigurationError(
    `"${fn}" has a \`limit\`, which is for jobs of GearMonkey and memory, not of ${address}. Remove it, and use the handler's \`concurrency\`.`,
  );
}
