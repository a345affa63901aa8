import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  commonMessage,
  groupFailures,
  groupOf,
} from '../../../lib/gearmonkey/features/views/failure-groups.js';

describe('failure groups', () => {
  it.each([
    ['no user 17', 'no user <n>'],
    ['took 1.5 s, 10:30', 'took <n> s, <n>'],
    ['job 0190163d-8694-739b-aea5-966c26f8ad91 gone', 'job <id> gone'],
    ['at 0xdeadBEEF', 'at <id>'],
    ['commit 3e1b096 failed', 'commit <id> failed'],
    ['no "a b" in `c`', 'no <text> in <text>'],
    ["can't read 'x y', don't", "can't read <text>, don't"],
    ['dead face', 'dead face'],
  ])('of %p have the message %p', (message, expected) => {
    expect(commonMessage(message)).toBe(expected);
  });

  it('are the same whatever number, id or quoted text a message has', () => {
    const part = fc.oneof(
      fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => [String(a), String(b)] as const),
      fc.tuple(fc.uuid(), fc.uuid()),
      fc
        .tuple(fc.stringMatching(/^[^"]*$/), fc.stringMatching(/^[^"]*$/))
        .map(([a, b]) => [`"${a}"`, `"${b}"`] as const),
    );
    fc.assert(
      fc.property(part, ([a, b]) => {
        const of = (value: string) => groupOf({ name: 'Error', message: `cannot find ${value} here` });
        // Longer messages are cut before they are compared.
        fc.pre(a.length < 900 && b.length < 900);
        expect(of(a)).toBe(of(b));
      }),
    );
  });

  it('differ by name, code and words', () => {
    const groups = [
      { name: 'Error', message: 'a' },
      { name: 'TypeError', message: 'a' },
      { name: 'Error', code: 'X', message: 'a' },
      { name: 'Error', message: 'b' },
    ].map(groupOf);
    expect(new Set(groups).size).toBe(4);
  });

  it('of any messages count each job once', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (messages) => {
        const jobs = messages.map((message, index) => ({
          id: String(index),
          fn: 'fn',
          state: 'failed' as const,
          attempts: 1,
          times: {},
          error: { name: 'Error', message },
        }));
        const groups = groupFailures(jobs);
        expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(messages.length);
      }),
    );
  });
});
