import { describe, expect, it } from '@jest/globals';
import { engineSettings, type EngineOptions } from '../../lib/jq/engine/settings.js';
import { masterSettings } from '../../lib/jq/master/master-options.js';
import { jq } from '../../lib/jq/worker/jq-source.js';
import { noDurations } from '../support/no-durations.js';

const ENGINE = [
  ...['backoff', 'backoffCap', 'grace', 'pushTimeout', 'suspect', 'suspectCap', 'silence'],
  ...['forgetWorker', 'forgetMissingName', 'unreadResult', 'readResult', 'tombstone', 'forgetKey'],
] as const satisfies readonly (keyof EngineOptions)[];

describe('times of JQ', () => {
  it.each(ENGINE)('`%s` of a master is a duration', (option) => {
    for (const [, value] of noDurations())
      expect(() => engineSettings({ [option]: value })).toThrow(
        `Expected \`${option}\` to be more than 0 ms`,
      );
    expect(engineSettings({ [option]: '90s' })).toEqual(engineSettings({ [option]: 90_000 }));
  });

  it('`requestTimeout` of a master is a duration', () => {
    for (const [, requestTimeout] of noDurations())
      expect(() => masterSettings({ connection: '', requestTimeout: requestTimeout as number })).toThrow(
        'Expected `requestTimeout` to be more than 0 ms',
      );
    expect(masterSettings({ connection: '', requestTimeout: '5s' }).requestTimeout).toBe(5000);
  });

  it.each(['pingInterval', 'signatureWindow'])('`%s` of a worker is a duration', (option) => {
    for (const [, value] of noDurations())
      expect(() => jq({ master: 'http://x', [option]: value })).toThrow(`Expected \`${option}\``);
  });
});
