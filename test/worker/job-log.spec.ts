import { describe, expect, it } from '@jest/globals';
import type { Claim, Outcome } from '../../lib/job/job-source.js';
import { toErrorInfo } from '../../lib/job/error-info.js';
import { printable } from '../../lib/job/printable.js';
import { spanText } from '../../lib/job/span-text.js';
import { JobLog } from '../../lib/worker/job-log.js';
import { stackLines } from '../../lib/worker/job-log.js';
import { inLines, type LogFields } from '../../lib/worker/worker-log.js';

interface Line {
  readonly level: string;
  readonly text: string;
  readonly fields: LogFields;
}

/** What a worker's log gets. */
function keeping(stacks = false) {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (text: string, fields: LogFields = {}) =>
      void lines.push({ level, text, fields });
  const log = inLines({ warn: at('WARN'), error: at('ERROR'), log: at('LOG'), debug: at('DEBUG') });
  return { lines, log: new JobLog(log, stacks) };
}

/** All texts, however deep. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const CLAIM = { fn: 'mail', id: '17' } as Claim;
const error = { name: 'TypeError', message: 'no\nway' };

function ended(outcome: object, attempt = 1, attempts = 5, stacks = false): Line[] {
  const { lines, log } = keeping(stacks);
  log.ended({ claim: CLAIM, ...outcome } as Outcome, attempt, attempts);
  return lines;
}

describe('The line of an attempt', () => {
  it('is a warning if another attempt follows, with its time', () => {
    expect(ended({ status: 'retry', error, delay: 1500.4 }, 3)).toEqual([
      {
        level: 'WARN',
        text: 'mail 17 failed (attempt 3 of 5, next in 1.5 s): TypeError: no\\nway',
        fields: {
          fn: 'mail',
          id: '17',
          attempt: 3,
          attempts: 5,
          error: { name: 'TypeError', message: 'no\\nway' },
          next: 'retry',
          delay: 1500,
        },
      },
    ]);
  });

  it('is an error if none follows, after any attempt', () => {
    const coded = { ...error, code: 'UNRECOVERABLE' };
    expect(ended({ status: 'error', error: coded }, 1)).toEqual([
      {
        level: 'ERROR',
        text: 'mail 17 failed for good (attempt 1 of 5): TypeError: no\\nway',
        fields: {
          fn: 'mail',
          id: '17',
          attempt: 1,
          attempts: 5,
          error: { name: 'TypeError', message: 'no\\nway', code: 'UNRECOVERABLE' },
          next: 'fail',
        },
      },
    ]);
  });

  it('has no limit and no time if the server counts the attempts', () => {
    const [again] = ended({ status: 'retry', error, delay: 5 }, 2, Infinity);
    expect(again?.text).toBe('mail 17 failed (attempt 2): TypeError: no\\nway');
    expect(again?.fields).toMatchObject({ attempt: 2, next: 'server' });
    expect(Object.keys(again?.fields ?? {})).not.toEqual(expect.arrayContaining(['attempts', 'delay']));
    const [last] = ended({ status: 'error', error }, 2, Infinity);
    expect(last?.text).toBe('mail 17 failed for good (attempt 2): TypeError: no\\nway');
  });

  it('is a debug line if the job was only postponed, also by a handler without retries', () => {
    const later = {
      name: 'RetryLaterError',
      message: 'not now',
      code: 'RETRY_LATER',
      stack: 'E\n    at a (b:1:1)',
    };
    for (const attempt of [1, 2]) {
      expect(ended({ status: 'retry', error: later, delay: 60_000 }, attempt, 1)).toEqual([
        expect.objectContaining({
          level: 'DEBUG',
          text: `mail 17 is put off (attempt ${attempt}, next in 1 min): RetryLaterError: not now`,
        }),
      ]);
    }
    expect(ended({ status: 'error', error: later })[0]?.level).toBe('ERROR');
  });

  it.each([
    ['snoozed', 'mail 17 is snoozed (next in 1 min).'],
    ['held', 'mail 17 holds its limit key (for 1 min).'],
  ])('is a debug line if the outcome is `%s`', (status, text) => {
    expect(ended({ status, delay: 60_000.4 })).toEqual([
      { level: 'DEBUG', text, fields: { fn: 'mail', id: '17', next: 'retry', delay: 60_000 } },
    ]);
  });

  it('is not written for attempts that did not fail', () => {
    expect(ended({ status: 'success', output: '' })).toEqual([]);
    expect(ended({ status: 'released' })).toEqual([]);
  });

  it('is short, and so are its fields, and no text of it begins a line', () => {
    const evil = '\n2026 ERROR [Bank] all gone\u001b[2J';
    const outcome = {
      claim: { fn: `${evil}${'f'.repeat(999)}`, id: `${evil}${'i'.repeat(999)}` },
      status: 'error',
      error: {
        name: `E${evil}`,
        message: evil + 'm'.repeat(9000),
        code: evil,
        stack: `${evil}\n    at${evil} (a:1:1)`,
      },
    };
    for (const stacks of [true, false]) {
      for (const { text, fields } of ended(outcome, 1, 1, stacks)) {
        expect(text.length).toBeLessThan(1200);
        expect(JSON.stringify(fields).length).toBeLessThan(4000);
        expect(printable(text)).toBe(text);
        for (const value of textsIn(fields)) {
          const lines = value.split('\n    at ').map(printable);
          expect(lines.join('\n    at ')).toBe(value);
        }
      }
    }
  });
});

describe('The stack of an attempt', () => {
  const thrown = toErrorInfo(
    new RangeError('boom', { cause: new TypeError('inner\n    at forged (x:1:1)\nERROR') }),
  );

  it('goes to debug, behind the line and with the same fields', () => {
    const [line, detail, ...more] = ended({ status: 'error', error: thrown });
    expect(line).toMatchObject({
      level: 'ERROR',
      fields: { error: { name: 'RangeError', message: 'boom' } },
    });
    expect(line?.fields['error']).not.toHaveProperty('stack');
    expect(detail).toMatchObject({
      level: 'DEBUG',
      text: 'mail 17 (attempt 1): RangeError: boom',
      fields: { fn: 'mail', id: '17', error: { stack: expect.stringMatching(/^ {4}at .*job-log\.spec/) } },
    });
    expect(more).toEqual([]);
  });

  it('is not made if the log has no level for it', () => {
    const texts: string[] = [];
    const keep = (text: string) => void texts.push(text);
    const log = inLines({ warn: keep, error: keep, debug: keep, isDebugging: () => false });
    new JobLog(log).ended({ claim: CLAIM, status: 'error', error: thrown }, 1, 1);
    expect(texts).toEqual(['mail 17 failed for good (attempt 1 of 1): RangeError: boom']);
  });

  it('is in the line with an explicit option for stacks', () => {
    const [line, ...more] = ended({ status: 'error', error: thrown }, 1, 5, true);
    expect(line?.text).toBe('mail 17 failed for good (attempt 1 of 5): RangeError: boom');
    expect(line?.fields).toMatchObject({ error: { stack: expect.stringContaining('job-log.spec') } });
    expect(more).toEqual([]);
  });

  it('has the causes, and indents each line, for any message', () => {
    const lines = stackLines(thrown).split('\n');
    expect(lines).toContainEqual(expect.stringMatching(/^ {4}caused by TypeError: inner\\n/));
    expect(lines.filter((line) => !line.startsWith('    '))).toEqual([]);
    expect(lines.length).toBeLessThanOrEqual(40);
  });

  it('is missing for a timeout, and if none was stored', () => {
    expect(stackLines({ ...thrown, code: 'JOB_TIMEOUT' })).toBe('');
    expect(stackLines({ name: 'Error', message: 'm' })).toBe('');
    expect(stackLines({ name: 'Error', message: 'm', stack: 'Error: m\nno frames' })).toBe('');
  });
});

describe('The lines of other ends', () => {
  it('name their jobs, ten at most', () => {
    const { lines, log } = keeping();
    log.cancelled(CLAIM);
    log.lost(CLAIM);
    log.refused(CLAIM);
    log.givenBack([CLAIM]);
    log.draining([CLAIM], 10_000);
    log.unsettled(
      Array.from({ length: 12 }, (_, id) => ({ ...CLAIM, id: String(id) })),
      'the server is gone',
    );
    expect(lines.map(({ level, text }) => `${level} ${text}`)).toEqual([
      'DEBUG mail 17 was cancelled while it ran.',
      'WARN mail 17 went to another worker because its lease expired.',
      'WARN The outcome of mail 17 was refused: its lease had expired.',
      'LOG Gave back jobs that still ran: mail 17',
      'LOG Waits up to 10 s for running jobs: mail 17',
      'ERROR The outcome of mail 0, mail 1, mail 2, mail 3, mail 4, mail 5, mail 6, mail 7, mail 8, mail 9, 2 more is lost: the server is gone',
    ]);
    expect(lines[0]?.fields).toEqual({ fn: 'mail', id: '17' });
    expect(lines[3]?.fields).toEqual({ jobs: [{ fn: 'mail', id: '17' }], count: 1 });
  });

  it('name a failed observer, its event, and its stack at debug', () => {
    const { lines, log } = keeping();
    log.observerFailed('Mails.onFinish', new RangeError('no\nway'), { fn: 'mail', id: '17' });
    log.observerFailed('Mails.onFinish', 'a text');
    const fields = {
      observer: 'Mails.onFinish',
      fn: 'mail',
      id: '17',
      error: { name: 'RangeError', message: 'no\\nway' },
    };
    expect(lines).toEqual([
      { level: 'ERROR', text: 'Mails.onFinish failed: RangeError: no\\nway', fields },
      {
        level: 'DEBUG',
        text: 'Mails.onFinish: RangeError: no\\nway',
        fields: { ...fields, error: { ...fields.error, stack: expect.stringContaining('job-log.spec') } },
      },
      {
        level: 'ERROR',
        text: 'Mails.onFinish failed: Error: a text',
        fields: { observer: 'Mails.onFinish', error: { name: 'Error', message: 'a text' } },
      },
    ]);
  });

  it('are not written if nothing runs', () => {
    const { lines, log } = keeping();
    log.givenBack([]);
    log.draining([], 10_000);
    log.draining([CLAIM], 0);
    expect(lines).toEqual([]);
  });
});

describe('spanText', () => {
  it('says milliseconds in the largest unit that they reach', () => {
    expect([0, 0.4, 250, 1000, 1540, 90_000, 3_600_000, 172_800_000].map(spanText)).toEqual([
      '0 ms',
      '0 ms',
      '250 ms',
      '1 s',
      '1.5 s',
      '1.5 min',
      '1 h',
      '48 h',
    ]);
  });
});

it('warns of large outputs of parents once for each function', () => {
  const { lines, log } = keeping();
  const other = { ...CLAIM, fn: 'report' } as Claim;
  for (const claim of [CLAIM, CLAIM, other]) log.largeParents(claim, 300 * 2 ** 20, 300);
  expect(lines.map(({ level, fields }) => [level, fields['fn']])).toEqual([
    ['WARN', 'mail'],
    ['WARN', 'report'],
  ]);
  expect(lines[0]?.text).toMatch(
    /^The outputs of the 300 jobs that mail 17 waited for are 300 MiB, .*references/,
  );
  expect(lines[0]?.fields).toMatchObject({ id: '17', bytes: 300 * 2 ** 20, count: 300 });
});
