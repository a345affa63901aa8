import { afterEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { askSystem } from '../../lib/dashboard/system-questions.js';

afterEach(() => Logger.overrideLogger(false));

it("An error of a system's driver is logged without passwords of URLs, and not told", async () => {
  const warn = jest.fn();
  Logger.overrideLogger({ log: warn, warn, error: warn });
  const asked = askSystem(() => Promise.reject(new Error('postgres://app:tomato@10.0.0.7 is away')));
  await expect(asked).rejects.toThrow('The system could not be asked. The log of the server says why.');
  const [[line]] = warn.mock.calls as [[unknown]];
  expect(line).toMatch(/^Error: postgres:.*@10\.0\.0\.7 is away\n {4}at /);
  expect(line).not.toContain('tomato');
});
