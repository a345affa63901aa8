import type { Claim, JobSource, Outcome } from '../../lib/job/job-source.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { patience } from '../support/until.js';

/** On a machine with nothing else to do. */
export const PATIENCE_MS = 20_000;

/** Up to `slots` jobs of one function; none after twenty seconds, or more on a busy machine. */
export function claimUpTo(source: JobSource, fn: string, slots: number): Promise<readonly Claim[]> {
  return source.claim(new SlotTable([[fn, slots]]), AbortSignal.timeout(patience(PATIENCE_MS)));
}

/** @throws when none came in that time */
export async function claimOne(source: JobSource, fn: string): Promise<Claim> {
  const [claim] = await claimUpTo(source, fn, 1);
  if (!claim) throw new Error(`No job of "${fn}" was claimed (waited ${PATIENCE_MS} ms)`);
  return claim;
}

/** One after the other, each settled before the next is claimed. */
export async function claimInOrder(source: JobSource, fn: string, count: number): Promise<string[]> {
  const inputs: string[] = [];
  while (inputs.length < count) {
    const claim = await claimOne(source, fn);
    inputs.push(inputOf(claim));
    await source.settle([success(claim)]);
  }
  return inputs;
}

export function inputOf(claim: Claim): string {
  return Buffer.from(claim.input).toString();
}

export function success(claim: Claim, output = 'done'): Outcome {
  return { claim, status: 'success', output };
}

export function failure(claim: Claim, message: string): Outcome {
  return { claim, status: 'error', error: { name: 'Error', message } };
}

export function released(claim: Claim): Outcome {
  return { claim, status: 'released' };
}

export function snoozed(claim: Claim, delay: number): Outcome {
  return { claim, status: 'snoozed', delay };
}

export function retry(claim: Claim, delay: number, message = 'not yet'): Outcome {
  return { claim, status: 'retry', delay, error: { name: 'Error', message } };
}
