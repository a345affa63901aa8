import { isFinal, LISTS, type JobState, type Snapshot } from './job-model.js';

/** What must hold whatever was done, a line for each breach. Knows nothing of the model. */
export function breaches(before: Snapshot, after: Snapshot): string[] {
  return Object.entries(after.jobs).flatMap(([id, job]) => [
    ...places(id, job, after),
    ...changes(id, before.jobs[id], job),
  ]);
}

/** Each job is in exactly one place: a queue, scheduled, leased, or final. */
function places(id: string, job: JobState, { lists, scheduled, leases }: Snapshot): string[] {
  const waiting = LISTS.flatMap((list) => lists[list].filter((other) => other === id)).length;
  const due = id in scheduled ? 1 : 0;
  const held = Object.keys(leases).filter((member) => member.startsWith(`${id}:`));
  const found = waiting + due + held.length + (isFinal(job) ? 1 : 0);
  return [
    ...(found === 1 ? [] : [`job ${id} is in ${found} places`]),
    ...(job.status === 'idle' && waiting + due !== 1 ? [`job ${id} is idle and does not wait`] : []),
    ...(job.status === 'busy' && held[0] !== `${id}:${job.token}`
      ? [`job ${id} is busy without its lease`]
      : []),
    ...(job.finishes === (isFinal(job) ? 1 : 0) ? [] : [`job ${id} finished ${job.finishes} times`]),
    ...(job.attempts <= job.token && job.stalls <= job.attempts ? [] : [`job ${id} counts wrongly`]),
  ];
}

/** A final job never changes again; tokens and stalls only grow, and each claim takes one token. */
function changes(id: string, before: JobState | undefined, after: JobState): string[] {
  if (!before) return [];
  const same = JSON.stringify(before) === JSON.stringify(after);
  return [
    ...(isFinal(before) && !same ? [`job ${id} was final and changed`] : []),
    ...(after.token < before.token || after.token > before.token + 1 ? [`job ${id}'s token jumped`] : []),
    ...(after.stalls < before.stalls ? [`job ${id}'s stalls shrank`] : []),
    ...(after.attempts < before.attempts - 1 ? [`job ${id}'s attempts shrank`] : []),
    ...(before.errors.some((attempt) => !after.errors.includes(attempt)) ? [`job ${id} lost an error`] : []),
  ];
}
