import { describe, expect, it } from '@jest/globals';
import { isOutcomesFault } from '../../lib/gearmonkey/core/source/outbox.js';
import { isReadOnly, isRefusedForNow, isTransientReply } from '../../lib/redis/redis-errors.js';

const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });
/** What servers before Redis 7 say of an error in a script. */
const inScript = (message: string) =>
  reply(`ERR Error running script (call to f_0123): @user_script:7: @user_script: 7: -${message}`);

describe('A refusal', () => {
  it.each([
    ['READONLY', [true, true, true]],
    ['NOREPLICAS', [true, true, false]],
    ['MISCONF', [false, true, false]],
    ['OOM', [false, true, false]],
    ['NOPERM', [false, true, false]],
    ['WRONGTYPE', [false, false, false]],
  ])('is known by its code, also in a script of an older server: %s', (code, expected) => {
    for (const error of [reply(`${code} for a reason`), inScript(`${code} for a reason`)])
      expect([isTransientReply(error), isRefusedForNow(error), isReadOnly(error)]).toEqual(expected);
    const isOurs = isOutcomesFault(inScript(`${code} for a reason`));
    expect(isOurs).toBe(code === 'WRONGTYPE');
  });

  it('is not taken for one by a word of a key', () => {
    expect(isRefusedForNow(reply('ERR no such key OOM'))).toBe(false);
  });
});
