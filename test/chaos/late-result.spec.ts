import { afterEach, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { embeddedServer, openEmbedded } from '../../lib/embedded/open-embedded.js';
import { holdEventLoop } from '../support/hold-event-loop.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';

describe('A result that arrives after the timeout of its run', () => {
  afterEach(stopWorkers);

  it('is ignored even if the event loop was blocked and no timer fired', async () => {
    const { store, source } = openEmbedded(embeddedServer('memory:'));
    const client = new GearMonkeyClient(store);
    await runWorker(source, 'f', () => holdEventLoop(60), { timeout: 20 });
    const job = await client.run('f', 'input', { blocking: true, timeout: '10s' });
    expect(await job.get()).toMatchObject({ state: 'failed', error: { code: 'JOB_TIMEOUT' } });
  });
});
