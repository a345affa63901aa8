import { jidsOf, json, options, type Calls } from './call.js';
import { Refused, ranked, type CoreModel } from './core-model.js';

/** Calls that concern queues, recurring jobs and the configuration. */
export const QUEUE_CALLS = {
  peek: (model, now, { queue, count }) => ({
    ...{ command: 'peek', args: [queue, count], read: jidsOf },
    expected: () => {
      const expired = ranked(model.place('locks', queue), now).slice(0, count);
      model.promote(now, queue, count - expired.length);
      return [...expired, ...ranked(model.place('work', queue)).toReversed()].slice(0, count);
    },
  }),

  pause: (model, _, { queue, paused }) => ({
    ...{ command: paused ? 'pause' : 'unpause', args: [queue] },
    expected: () => {
      if (paused) model.paused.add(queue);
      else model.paused.delete(queue);
      return null;
    },
  }),

  unfail: (model, now, { queue, group, count }) => ({
    ...{ command: 'unfail', args: [queue, group, count] },
    expected: () => {
      const jids = (model.failures.get(group) ?? []).slice(-count);
      for (const job of jids.toReversed().map((jid) => model.existing(jid))) {
        model.leave(job);
        job.history.push('put');
        model.enter(job, queue, now, 0, []);
      }
      return jids.length;
    },
  }),

  queues: (model, now, { queue }) => ({
    ...{ command: 'queues', args: [queue], read: (reply) => JSON.parse(String(reply)) as unknown },
    expected: () => counted(model, now, queue),
  }),

  config: (_, __, { option, value }) => ({
    ...{ command: 'config.set', args: [option, value] },
    expected: () => null,
  }),

  recur: (model, now, { queue, jid, interval, offset, tags, ...rest }) => ({
    command: 'recur',
    args: [queue, jid, 'k', '{}', 'interval', interval, offset, ...options({ ...rest, tags: json(tags) })],
    expected: () => {
      const old = model.recurring.get(jid);
      if (old) model.place('recur', old.queue).delete(jid);
      model.recurring.set(jid, { queue, interval, tags, ...rest, count: old?.count ?? 0 });
      model.place('recur', queue).set(jid, now + offset);
      return jid;
    },
  }),

  update: (model, _, { jid, ...given }) => ({
    ...{ command: 'recur.update', args: [jid, ...options(given)] },
    expected: () => {
      const job = model.recurring.get(jid);
      if (!job) throw new Refused('no such recurring job');
      const next = model.place('recur', job.queue).get(jid) ?? 0;
      model.place('recur', job.queue).delete(jid);
      const { interval = job.interval, queue = job.queue, priority = job.priority } = given;
      model.place('recur', queue).set(jid, next + interval - job.interval);
      Object.assign(job, { interval, queue, priority });
      return 1;
    },
  }),

  unrecur: (model, _, { jid }) => ({
    ...{ command: 'unrecur', args: [jid] },
    expected: () => {
      const job = model.recurring.get(jid);
      if (job) model.place('recur', job.queue).delete(jid);
      model.recurring.delete(jid);
      return 1;
    },
  }),
} satisfies Partial<Calls>;

function counted(model: CoreModel, now: number, queue: string) {
  for (const jid of ranked(model.place('scheduled', queue), now)) {
    model.place('scheduled', queue).delete(jid);
    model.line(model.existing(jid), now, null);
  }
  const size = (place: Parameters<CoreModel['place']>[0]) => model.place(place, queue).size;
  const stalled = ranked(model.place('locks', queue), now).length;
  return {
    ...{ name: queue, waiting: size('work'), stalled, running: size('locks') - stalled },
    ...{ scheduled: size('scheduled'), depends: size('depends'), recurring: size('recur') },
    paused: model.paused.has(queue),
  };
}
