import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { errorReply } from '../../../lib/jq/master/error-reply.js';
import { MasterLifecycle } from '../../../lib/jq/master/master.lifecycle.js';
import { eventually } from '../../support/until.js';

afterEach(() => {
  Logger.overrideLogger(new ConsoleLogger());
  jest.restoreAllMocks();
});

describe('The log of a JQ master', () => {
  it('has one line of a start that failed, and the master tries again though the logger throws', async () => {
    jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const lines: unknown[] = [];
    const error = (line: unknown) => {
      lines.push(line);
      throw new Error('disk full');
    };
    Logger.overrideLogger({ log: error, warn: error, error });
    const engine = {
      isStarted: false,
      async start() {
        if (lines.length === 0) throw new Error('refused\nERROR [Bank] forged');
        this.isStarted = true;
      },
    };
    const settings = { tokens: [] };
    const master = new MasterLifecycle(engine as never, {} as never, {} as never, settings as never);
    master.onApplicationBootstrap();
    await eventually(() => expect(engine.isStarted).toBe(true));
    expect(lines).toEqual(['The master could not start, trying again: refused\\nERROR [Bank] forged']);
  });

  it('has no passwords of URLs in the errors of requests', () => {
    const error = jest.fn();
    Logger.overrideLogger({ log: error, warn: error, error });
    const { status } = errorReply(new Error('redis://app:tomato@10.0.0.7 is away'));
    expect(status).toBe(500);
    const [[line]] = error.mock.calls as [[unknown]];
    expect(line).toMatch(/^Error: redis:.*@10\.0\.0\.7 is away\n {4}at /);
    expect(line).not.toContain('tomato');
  });
});
