import { describe, expect, it } from '@jest/globals';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { Inbox } from '../../../lib/jq/worker/inbox.js';
import type { Registration } from '../../../lib/jq/worker/registration.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';

const job = (id: string, name = 'mail') => ({
  ...{ id, name, argument: Raw.EMPTY_MAP, timeout: 30, attempt: 1, retryCount: 0, isLast: false },
});
const registrationOf = () => ({ held: new Set(), maxJobs: 1, workerId: 'w' }) as unknown as Registration;

describe('the inbox of a worker', () => {
  it('has no more jobs at a time than the worker may run, of several functions together', async () => {
    const inbox = new Inbox(1);
    const slots = new SlotTable([
      ['mail', 1],
      ['resize', 1],
    ]);
    const claiming = inbox.claim(slots, new AbortController().signal);
    const arrivals = [
      inbox.arrive(job('a'), registrationOf()),
      inbox.arrive(job('b', 'resize'), registrationOf()),
    ];
    await expect(arrivals[0]).resolves.toBe('taken');
    const claims = await claiming;
    expect(claims.map(({ id }) => id)).toEqual(['a']);
    for (const claim of claims) inbox.release(claim);
    const next = await inbox.claim(slots, new AbortController().signal);
    expect(next.map(({ id }) => id)).toEqual(['b']);
    await expect(arrivals[1]).resolves.toBe('taken');
  });

  it('counts the jobs of each function until they end', async () => {
    const inbox = new Inbox(2);
    const registration = registrationOf();
    const claiming = inbox.claim(new SlotTable([['mail', 1]]), new AbortController().signal);
    const push = (id: string) => inbox.arrive(job(id), registration, () => undefined);
    await expect(push('a')).resolves.toBe('taken');
    await expect(push('b')).resolves.toBe('full');
    const [claim] = await claiming;
    if (claim) inbox.release(claim);
    expect(registration.held.size).toBe(0);
  });
});
