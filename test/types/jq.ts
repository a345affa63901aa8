import { verify, type JqClient } from 'nestjs-gearmonkey/jq';

/** Never called: it only has to compile. */
export async function jqTimes(client: JqClient, body: Uint8Array): Promise<void> {
  const job = await client.enqueue('mail', {}, { timeout: '30s' });
  await job.poll({ timeout: 5000 });
  // @ts-expect-error a span, not a point in time
  await job.poll({ timeout: new Date() });
  // @ts-expect-error a duration is a number or text
  await client.enqueue('mail', {}, { timeout: 5n });
  verify(body, {}, { url: '', secrets: [], window: '1m', now: new Date() });
  // @ts-expect-error a point in time is a Date
  verify(body, {}, { url: '', secrets: [], window: '1m', now: 1_900_000_000_000 });
}
