import { describe, expect, it } from '@jest/globals';
import { encodeOutcome } from '../../lib/gearmonkey/core/source/outbox.js';
import type { Outcome } from '../../lib/job/job-source.js';

const claim = { fn: 'fn', id: '7', token: 3, input: new Uint8Array(), attempts: 1, stalls: 0, options: {} };
const circle: Record<string, unknown> = { name: 'Round', message: 'round' };
circle['cause'] = circle;

describe('encodeOutcome', () => {
  it.each<[string, string | Uint8Array, string]>([
    ['is sent to the client that waits for it', 'x'.repeat(65_536), 'reply:fn:inbox'],
    ['is not sent if it is long', 'x'.repeat(65_537), ''],
    ['is not sent if it is no text', new Uint8Array([255]), ''],
  ])('has the channel of an output, which %s', (_, output, channel) => {
    const called = { ...claim, options: { reply: 'inbox' } };
    const success = { status: 'success', output } as const;
    expect(encodeOutcome({ claim: called, ...success }, 'reply:fn:')).toEqual([
      '7:3',
      'success',
      output,
      channel,
    ]);
    expect(encodeOutcome({ claim, ...success }, 'reply:fn:')).toEqual(['7:3', 'success', output, '']);
  });

  it('names the signal that a job waits for', () => {
    const snoozed = { claim, status: 'snoozed', delay: 5 } as const;
    expect(encodeOutcome({ ...snoozed, waitsFor: ['go'] }, '')).toEqual(['7:3', 'snoozed', '5', 'go']);
    expect(encodeOutcome({ ...snoozed, waitsFor: ['go', 'stop'] }, '')[3]).toBe('go:stop');
    expect(encodeOutcome(snoozed, '')).toEqual(['7:3', 'snoozed', '5', '']);
  });

  it.each([
    [
      'an output that is no payload',
      { claim, status: 'success', output: Promise.resolve('x') },
      'the codec returned a Promise',
    ],
    ['no output', { claim, status: 'success' }, 'the codec returned undefined'],
    [
      'an error that has no JSON',
      { claim, status: 'error', error: { name: 'N', message: 'm', id: 1n } },
      'BigInt',
    ],
    ['an error in a circle', { claim, status: 'retry', delay: 1, error: circle }, 'circular'],
  ])('turns %s into the error of its job', (_, outcome, reason) => {
    const [member, status, message, error] = encodeOutcome(outcome as unknown as Outcome, 'reply:fn:');
    expect([member, status, message]).toEqual(['7:3', 'error', expect.stringContaining(reason)]);
    expect(JSON.parse(String(error))).toMatchObject({ name: 'TypeError' });
  });
});
