import type { Job } from '../../job/job.js';
import { isFinal } from '../../job/job-state.js';

/** A bar on stderr that shows how far a job is. */
export interface ProgressBar {
  update(job: Job): void;
  /** Removes the bar and shows the cursor again. */
  stop(): void;
}

/** The bar of a job; only on a terminal. */
export async function progressBar(fn: string, id: string): Promise<ProgressBar | undefined> {
  if (process.stderr.isTTY !== true || process.env['TERM'] === 'dumb') return undefined;
  const { SingleBar, Presets } = (await import('cli-progress')).default;
  const bar = new SingleBar(
    {
      stream: process.stderr,
      format: `${fn} ${id} {bar} {value}/{total} {state}`,
      barsize: 30,
      clearOnComplete: true,
      hideCursor: true,
      gracefulExit: false,
      fps: 10,
    },
    Presets.shades_classic,
  );
  bar.start(1, 0, { state: 'waiting' });
  return {
    update: ({ state, progress }) => {
      if (isFinal(state)) return;
      if (progress) bar.setTotal(progress.divisor);
      bar.update(progress?.dividend ?? 0, { state });
    },
    stop: () => bar.stop(),
  };
}
