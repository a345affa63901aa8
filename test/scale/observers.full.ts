import { beforeAll, describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { Program, stopProgramsAfterEach } from '../support/worker-process.js';
import { useRedis } from '../support/use-redis.js';
import type { ObserverFigures, ObserverKind } from './observers-program.js';

const observers: Record<ObserverKind, number> = { watch: 100_000, progress: 20_000, events: 100_000 };
/** Bytes of heap: about half as much again as was measured. */
const MAX_BYTES = { watch: 1800, progress: 1800, events: 1400 };
/** Of each that had gone: what lies about, and no more with more of them. */
const MAX_BYTES_LEFT = 50;

const program = fileURLToPath(new URL('observers-program.ts', import.meta.url));

describe('thousands of observers', () => {
  const server = useRedis();
  const measured = new Map<unknown, ObserverFigures>();
  stopProgramsAfterEach();

  beforeAll(async () => {
    const child = await Program.start(program, { url: server.url, observers }, ['--expose-gc']);
    await child.says('done', 100_000);
    for (const figures of child.all('figures')) measured.set(figures.kind, figures as never);
  });

  it.each(['watch', 'progress', 'events'] as const)(
    'of the kind %s take little memory, and free it',
    (kind) => {
      expect(measured.get(kind)?.bytesEach).toBeLessThan(MAX_BYTES[kind]);
      expect(measured.get(kind)?.bytesLeft).toBeLessThan(MAX_BYTES_LEFT);
    },
  );

  it.each(['watch', 'progress'] as const)(
    'of jobs, of the kind %s, get only messages of their own job',
    (kind) => {
      expect(measured.get(kind)?.delivered).toBe(1);
    },
  );

  it('of a function get messages of all jobs', () => {
    expect(measured.get('events')?.delivered).toBe(observers.events);
  });
});
