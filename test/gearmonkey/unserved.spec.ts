import { describe, expect, it } from '@jest/globals';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { UnservedFunctions } from '../../lib/gearmonkey/core/client/unserved.js';
import { embeddedServer, openEmbedded } from '../../lib/embedded/open-embedded.js';
import { claimOne } from '../contract/claiming.js';
import { eventually } from '../support/until.js';

const PATIENCE_MS = 1;

function rig() {
  const { store, source } = openEmbedded(embeddedServer('memory:'));
  const client = new GearMonkeyClient(store);
  const unserved = new UnservedFunctions(store, PATIENCE_MS);
  const said: string[] = [];
  const here = { functions: () => ['mail', 'report'], warn: (line: string) => void said.push(line) };
  return { source, client, unserved, said, here };
}

describe('A call for a function without a worker', () => {
  it('is logged once after a while, with the handlers of this process', async () => {
    const { client, unserved, said, here } = rig();
    unserved.report(here);
    const job = await client.run('mial', 1);
    unserved.waits('mial', job);
    unserved.waits('mial', job);
    await eventually(() =>
      expect(said).toEqual([
        'A call has waited for job 1 of "mial" for 1 ms: it waits, and no worker of "mial" is registered; ' +
          'handlers of this process: "mail", "report".',
      ]),
    );
    unserved.waits('mial', job);
    const other = await client.run('reprot', 1);
    unserved.waits('reprot', other);
    await eventually(() => expect(said).toHaveLength(2));
    expect(said[1]).toContain('no worker of "reprot"');
    unserved.close();
  });

  it('is not logged when it has ended, nor when its job has begun', async () => {
    const { client, source, unserved, said, here } = rig();
    unserved.report(here);
    const running = await client.run('mail', 1);
    // As one in another language does, which need not register.
    await claimOne(source, 'mail');
    expect(await client.workers('mail')).toEqual([]);
    unserved.waits('mail', running);
    unserved.waits('ended', await client.run('ended', 1))();
    unserved.waits('mial', await client.run('mial', 1));
    await eventually(() => expect(said).toEqual([expect.stringContaining('"mial"')]));
    await expect(unserved.reason('mail', running)).resolves.toBeUndefined();
    unserved.close();
  });

  it('is said by the error of a timeout, with and without an app', async () => {
    const { client, here } = rig();
    await expect(client.call('mial', 1, { timeout: 1 })).rejects.toThrow(
      'Job 1 of "mial" didn\'t finish within 1 ms: it waits, and no worker of "mial" is registered. It goes on; ',
    );
    client.reportHandlers({ ...here, functions: () => Array.from({ length: 22 }, (_, i) => `fn${i}`) });
    await expect(client.result('mial', 1, { timeout: 1 })).rejects.toThrow(
      /registered; handlers of this process: "fn0", .*"fn19", 2 more\. It goes on/,
    );
  });
});
