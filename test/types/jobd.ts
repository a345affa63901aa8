import type {
  DaemonOptions,
  JobdClient,
  JobdDaemon,
  JobdMasterOptions,
  JobdSourceOptions,
  JobdMasterAddress,
} from 'nestjs-gearmonkey/jobd';

/** Never called: it only has to compile. */
export async function jobdTimes(client: JobdClient, daemon: JobdDaemon): Promise<void> {
  await daemon.stop({ timeout: '10s' });
  client.rows([1], { interval: 100 });
  // @ts-expect-error a span, not a point in time
  await daemon.stop({ timeout: new Date() });
  // @ts-expect-error a column of the table is in seconds
  await client.add('low', { time_scheduled: new Date() });
  // @ts-expect-error nothing would run it
  await client.add('low', { status: 'running' });
}

export const master: JobdMasterAddress = { host: '', port: 1, pingInterval: '30s', reconnectTimeout: 500 };
// @ts-expect-error a span, not a point in time
export const wrongMaster: JobdMasterAddress = { host: '', port: 1, pingInterval: new Date() };
export const times: Partial<DaemonOptions> = { lease: '15s', drainTimeout: 0, killGrace: '5s' };
// @ts-expect-error a duration is a number or text
export const wrongTimes: Partial<DaemonOptions> = { lease: 5n };
// @ts-expect-error a span, not a point in time
export const wrongSource: Partial<JobdSourceOptions> = { pollInterval: new Date() };
// @ts-expect-error a span, not a point in time
export const wrongOptions: Partial<JobdMasterOptions> = { pokeThrottleInterval: new Date() };
