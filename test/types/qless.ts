import type { QlessClient, QlessHistoryItem, QlessJob } from 'nestjs-gearmonkey/qless';
import { same } from './definitions.js';

/** Never called: it only has to compile. */
export async function qlessTimes(client: QlessClient, job: QlessJob): Promise<void> {
  const queue = client.queue('q');
  await queue.put('K', {}, { delay: '30s' });
  await queue.recur('K', {}, { interval: 60_000, offset: '1h' });
  await queue.pop({ wait: '5s' });
  // @ts-expect-error a span, not a point in time
  await queue.put('K', {}, { delay: new Date() });
  // @ts-expect-error a span, not a point in time
  await job.retry({ delay: new Date() });
  // @ts-expect-error a duration is a number or text
  await queue.pop({ wait: 5n });
  // @ts-expect-error a point in time is a Date
  await queue.stats(1_900_000_000);

  same<typeof job.expires, Date | null>();
  const [first] = job.history;
  same<typeof first, QlessHistoryItem | undefined>();
  const when: Date | undefined = first?.when;
  const expires = await job.heartbeat();
  same<typeof expires, Date>();
  void when;
}

// @ts-expect-error a clock says Dates
export const options: ConstructorParameters<typeof QlessClient>[0] = { connection: '', clock: () => 5 };
