import { afterEach, beforeEach } from '@jest/globals';
import { instrumentation, subscribeTo } from '../../lib/job/instrumentation.js';
import { LOOK_MS, workersLook, type SourceRig } from './rig.js';

/** For a `describe`: jobs that a handler put off for less than a second go on at once. */
export function skipShortDelays(rigOf: () => SourceRig): void {
  let stop = (): void => undefined;
  let passing: Promise<unknown> = Promise.resolve();
  beforeEach(() => {
    stop = subscribeTo(instrumentation.settle, {
      asyncEnd: ({ outcomes }) => {
        const isShort = outcomes.some((outcome) => 'delay' in outcome && outcome.delay <= LOOK_MS);
        if (isShort) passing = passing.then(() => workersLook(rigOf()));
      },
    });
  });
  afterEach(async () => {
    stop();
    await passing;
  });
}
