import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { COMMANDS } from '../../../lib/jobd/jobctl/commands.js';

describe('jobctl', () => {
  afterEach(() => void jest.useRealTimers());

  it.each(['pause', 'continue'])('reports that an original master does not answer %s', async (name) => {
    jest.useFakeTimers();
    const command = COMMANDS.find(({ usage }) => usage.startsWith(`${name} `));
    const reported = command?.master?.(() => new Promise(() => undefined), ['low']);
    const refused = expect(reported).rejects.toMatchObject({
      code: 'PEER_LOST',
      message: expect.stringMatching(/^no reply within 10 s\. An original master answers neither/),
    });
    await jest.advanceTimersByTimeAsync(10_000);
    await refused;
  });
});
