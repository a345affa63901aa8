import { parse } from './fields.js';
import { keyOf, type History } from './history.js';
import { STEPS } from './jobs.mjs';
import { found, type Violation } from './violation.js';

/** A step of a later claim than the one that has recorded it does not run: claims are told apart by their tokens. */
export function* recordedStepsRest({ steps, recorded }: History): Iterable<Violation> {
  const known = new Map(recorded.map((note) => [`${keyOf(note)} ${note.name}`, note.token]));
  for (const note of steps) {
    const token = known.get(`${keyOf(note)} ${note.name}`);
    if (token !== undefined && note.token > token)
      yield found(note, `step "${note.name}", recorded by claim ${token}, ran again in claim ${note.token}`);
  }
}

/** The server's log of writes has each step once at most. */
export function* stepsRecordedOnce({ written }: History): Iterable<Violation> {
  for (const [key, { steps = [] }] of written)
    for (const [name, values] of steps)
      if (values.size > 1) yield found(key, `step "${name}" was recorded as ${[...values].join(' and as ')}`);
}

/** What a job puts out has of each step the output that was recorded. */
export function* stepsGiveWhatWasRecorded({ readings, recorded }: History): Iterable<Violation> {
  const known = new Map(recorded.map((note) => [`${keyOf(note)} ${note.name}`, note.token]));
  for (const [key, { fields }] of readings) {
    const { steps } = (parse(fields['output']) ?? {}) as { steps?: readonly number[] };
    if (!Array.isArray(steps)) continue;
    for (const [index, name] of STEPS.entries()) {
      const stored = /^\d+:\d+:(\d+)$/.exec(fields[`step:${name}`] ?? '')?.[1];
      const told = known.get(`${key} ${name}`);
      if (stored !== String(steps[index]) || (told !== undefined && told !== steps[index]))
        yield found(
          key,
          `step "${name}" gave ${steps[index]}, is stored as ${stored}, was recorded by ${told}`,
        );
    }
  }
}
