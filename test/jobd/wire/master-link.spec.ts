import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DaemonOperations } from '../../../lib/jobd/vocabulary/operations.js';
import { SILENT } from '../../../lib/jobd/vocabulary/logging.js';
import type { MasterAddress } from '../../../lib/jobd/protocol/master-address.js';
import { JobdWorker } from '../../../lib/jobd/worker/jobd-worker.js';
import { freePort } from '../../support/free-port.js';
import { eventually, until } from '../../support/until.js';
import { OriginalMaster } from './original-actors.js';
import { useWorker } from './use-worker.js';

describe('a worker and a master as the original is', () => {
  const daemonOf = useWorker();
  let master: OriginalMaster;
  let port: number;
  let worker: JobdWorker;
  let accepted: number;

  beforeEach(async () => {
    master = new OriginalMaster();
    port = await master.listen();
    accepted = 0;
  });
  afterEach(async () => {
    await Promise.all([worker.stop(), master.close().catch(() => undefined)]);
  });

  async function start(settings: Partial<MasterAddress> = {}, password?: string): Promise<void> {
    worker = new JobdWorker(daemonOf.daemon as DaemonOperations, {
      host: '127.0.0.1',
      port: 0,
      name: 'srv-1',
      auth: { password },
      master: { host: '127.0.0.1', port, reconnectTimeout: 50, ...settings },
      log: { ...SILENT, info: (text) => void (accepted += Number(text.startsWith('registered with'))) },
    });
    await worker.start();
  }
  /** What the master's answers have told the worker: the master has a registration before. */
  const told = (count: number) =>
    until(() => accepted >= count, { message: `not told of ${count} registrations` });
  const registered = (count: number) =>
    until(() => master.registrations().length >= count, { message: `no ${count} registrations` });
  /** Each on a link of its own, the last of which is the worker: the original keeps every registration of a link. */
  async function onlyTheLastOf(links: number): Promise<void> {
    const ended = Array.from({ length: links }, (_, index) => index < links - 1);
    await eventually(() => expect(master.sockets.map(({ destroyed }) => destroyed)).toEqual(ended));
  }

  it('registers name and targets with its password, in the original form', async () => {
    await start({}, 'secret');
    await until(() => worker.isRegistered);
    expect(master.received[0]).toMatch(
      /^\[0,\{"no":\d+,"type":"register-worker","data":\{"targets":\["low","high"\],"name":"srv-1"\},"password":"secret"\}\]$/,
    );
  });

  it('answers a poll that arrives before the ok, and asks its master for no password', async () => {
    master.pollBeforeOk = true;
    await start({}, 'secret');
    await eventually(() => expect(master.received).toContain('[1,{"no":77,"data":"ok"}]'));
    master.send([0, { no: 78, type: 'pause', data: { targets: ['zzz'] } }]);
    master.send([0, { no: 79, type: 'poll' }]);
    master.send([2]);
    await eventually(() => expect(master.received).toContain('[3]'));
    expect(master.received.slice(-3)).toEqual([
      '[1,{"no":78,"error":"invalid target \'zzz\'"}]',
      '[1,{"no":79,"data":"ok"}]',
      '[3]',
    ]);
  });

  it('registers anew when targets are added or removed', async () => {
    await start();
    await told(1);
    daemonOf.daemon.addTarget('n1', 1);
    await told(2);
    daemonOf.daemon.removeTarget('n1');
    await told(3);
    expect(master.registrations().map(({ data }) => data.targets)).toEqual([
      ['low', 'high'],
      ['low', 'high', 'n1'],
      ['low', 'high'],
    ]);
    await onlyTheLastOf(3);
  });

  it('registers anew when a target is added before the registration is answered', async () => {
    master.beforeAnswer = () => {
      master.beforeAnswer = () => undefined;
      daemonOf.daemon.addTarget('n1', 1);
    };
    await start();
    await told(2);
    daemonOf.daemon.removeTarget('n1');
    await told(3);
    await onlyTheLastOf(3);
  });

  it('tries again after the link is lost, after an error, and when it drops before the registration is answered', async () => {
    await start();
    await registered(1);
    master.registration = undefined;
    master.dropAll();
    await registered(3);
    master.registration = { error: 'not now' };
    const before = master.registrations().length;
    await registered(before + 2);
    expect(worker.isRegistered).toBe(false);
    master.registration = { data: 'ok' };
    await until(() => worker.isRegistered);
  });

  it('connects to a master that is started later, on a port that was closed', async () => {
    await master.close();
    port = await freePort();
    await start();
    master = new OriginalMaster();
    await master.listen(port);
    await until(() => worker.isRegistered);
  });

  it('disconnects from a master that answers no ping', async () => {
    await start({ pingInterval: 50 });
    await eventually(() => expect(master.received).toContain('[2]'));
    // Deaf from now on; the connection stays open.
    const before = master.sockets.length;
    master.sockets.at(-1)?.pause();
    await eventually(() => expect(master.sockets.length).toBeGreaterThan(before), {
      message: 'no new connection',
    });
  });

  it('stops at once while it waits to reconnect', async () => {
    await master.close();
    await start({ reconnectTimeout: '1h' });
    await worker.stop();
    expect(worker.isRegistered).toBe(false);
  });
});
