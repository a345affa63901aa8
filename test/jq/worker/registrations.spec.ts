import { describe, expect, it } from '@jest/globals';
import { MasterHttp } from '../../../lib/jq/http/master-http.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { Inbox } from '../../../lib/jq/worker/inbox.js';
import { Registrations } from '../../../lib/jq/worker/registrations.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';
import { useMaster } from '../master/use-master.js';

const job = {
  ...{
    id: 'a',
    name: 'mail',
    argument: Raw.EMPTY_MAP,
    timeout: 30,
    attempt: 1,
    retryCount: 0,
    isLast: false,
  },
};

describe('the registrations of a worker', () => {
  const master = useMaster();

  it('count a slot once that a push has taken which is not answered yet', async () => {
    const http = new MasterHttp({ master: master.url });
    const inbox = new Inbox(4);
    const settings = { maxJobs: 4, maxBodyBytes: 1_000_000, pingInterval: 15_000 };
    const registrations = new Registrations({
      ...{ http, inbox, settings, name: 'worker', pulls: false },
      onProblem: () => undefined,
    });
    registrations.serve(['mail']);
    const slots = new SlotTable([['mail', 2]]);
    const stopped = new AbortController();
    const claim = () => inbox.claim(slots, stopped.signal);
    const claiming = registrations.during(slots, 'http://127.0.0.1:1', async () => {
      const claimed = claim();
      const registration = registrations.addressee(job, undefined);
      if (typeof registration === 'number') throw new Error(`no registration: ${registration}`);
      const request = { onGone: () => undefined, onAnswered: () => undefined };
      await expect(inbox.arrive(job, registration, request)).resolves.toBe('taken');
      stopped.abort();
      return claimed;
    });
    await expect(claiming).resolves.toEqual([]);
    await registrations.during(slots, 'http://127.0.0.1:1', claim);
    expect(registrations['all'].map(({ maxJobs }) => maxJobs)).toEqual([2]);
    await registrations.withdraw(['mail']);
    await http.close();
  });

  it('of many functions end without a warning', async () => {
    const warnings: string[] = [];
    const warned = ({ name }: Error) => warnings.push(name);
    process.on('warning', warned);
    const http = new MasterHttp({ master: master.url });
    const inbox = new Inbox(100);
    const registrations = new Registrations({
      ...{
        http,
        inbox,
        settings: { maxJobs: 100, maxBodyBytes: 1_000_000, pingInterval: 15_000 },
        name: 'worker',
        pulls: false,
      },
      onProblem: () => undefined,
    });
    const functions = Array.from({ length: 20 }, (_, n) => `mail-${n}`);
    registrations.serve(functions);
    const slots = new SlotTable(functions.map((fn) => [fn, 1]));
    await registrations.during(slots, 'http://127.0.0.1:1', async () => undefined);
    await Promise.all(registrations['all'].map((registration) => registration.ready()));
    await registrations.withdraw(functions);
    await http.close();
    process.off('warning', warned);
    expect(warnings).toEqual([]);
  });
});
