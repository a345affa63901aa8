import { ownVersion, versionOf } from '../../harness/packages.mjs';

/** All contenders keep finished jobs, which is their default. Handlers return `true`. */
export const CONTENDERS = [
  {
    key: 'gearmonkey',
    title: 'nestjs-gearmonkey',
    version: ownVersion(),
    options: 'through its Nest module, at its defaults: leases, presence and events on',
  },
  {
    key: 'bullmq',
    title: 'BullMQ',
    version: versionOf('bullmq'),
    options:
      'at its defaults: locks, stalled checks and events on; results by waitUntilFinished with QueueEvents',
  },
  {
    key: 'bee-queue',
    title: 'bee-queue',
    version: versionOf('bee-queue'),
    options:
      'checkStalledJobs every 5 s; its workers send events, producers receive them only where results are awaited',
  },
];

/**
 * Opens a contender's queue. Its packages are loaded only now, so the process has no other contender's packages.
 *
 * @param {{ key: string, url: string, results?: boolean, events?: boolean }} opening `results`: calls will be made;
 *   `events: false`: workers need not send events, if the contender has that option
 */
export async function openQueue({ key, url, results = false, events = true }) {
  const { open } = await import(`./contenders/${key}.mjs`);
  return open(url, { results, events });
}
