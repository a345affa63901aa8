import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Action, BulkView } from './api.js';
import { answerTo } from './answers.js';
import { ApiFailure } from './dashboard-errors.js';
import type { ViewedFunction } from './viewed-instance.js';

const MOST_AT_ONCE = 10;
const MOST_KEPT = 100;
const KEPT_MS = 60 * 60 * 1000;

/** Work on many jobs: reports how many are done, and ends after a step once it is cancelled. */
export type BulkWork = (report: (done: number) => void, isCancelled: () => boolean) => Promise<number>;

interface Bulk {
  view: BulkView;
  isCancelled: boolean;
}

export interface BulkStart extends Pick<ViewedFunction, 'i' | 'fn'> {
  readonly action: Action;
  readonly user: string;
  readonly of: number;
  readonly work: BulkWork;
  /** Called before its first change. */
  readonly begins: (id: string) => void;
  /** Called when it has ended. */
  readonly ended: (run: BulkView) => void;
}

/** The runs of this app: at most 10 at once. They go on when the page is closed. */
@Injectable()
export class BulkRuns implements OnModuleDestroy {
  private readonly runs = new Map<string, Bulk>();

  /** @throws ApiFailure 429 */
  start({ i, fn, action, user, of, work, begins, ended }: BulkStart): string {
    this.forget();
    const running = [...this.runs.values()].filter(({ view }) => view.state === 'running');
    if (running.length >= MOST_AT_ONCE)
      throw new ApiFailure(429, 'TOO_MANY_RUNS', `${MOST_AT_ONCE} runs are under way. Wait or cancel one.`);
    const id = randomUUID();
    const begun = new Date().toISOString();
    const run: Bulk = {
      view: { id, i, fn, action, user, begun, done: 0, of, state: 'running' },
      isCancelled: false,
    };
    begins(id);
    this.runs.set(id, run);
    void this.follow(run, work).then(() => ended(run.view));
    return id;
  }

  get(id: unknown): BulkView | undefined {
    return typeof id === 'string' ? this.runs.get(id)?.view : undefined;
  }

  /** @throws ApiFailure 404 */
  need(id: unknown): BulkView {
    const view = this.get(id);
    if (!view) throw ApiFailure.notFound('such run. Runs are kept for an hour');
    return view;
  }

  all(user: string): BulkView[] {
    this.forget();
    return [...this.runs.values()].map(({ view }) => view).filter((view) => view.user === user);
  }

  cancel(id: string): void {
    const run = this.runs.get(id);
    if (run) run.isCancelled = true;
  }

  onModuleDestroy(): void {
    for (const run of this.runs.values()) run.isCancelled = true;
  }

  private async follow(run: Bulk, work: BulkWork): Promise<void> {
    const set = (changes: Partial<BulkView>) => (run.view = { ...run.view, ...changes });
    try {
      const done = await work(
        (count) => set({ done: count }),
        () => run.isCancelled,
      );
      set({ done, state: run.isCancelled ? 'cancelled' : 'done' });
    } catch (error) {
      set({ state: 'failed', error: answerTo(error)[1] });
    }
    set({ ended: new Date().toISOString() });
  }

  private forget(): void {
    const ended = [...this.runs].filter(([, { view }]) => view.ended !== undefined);
    const surplus = this.runs.size - MOST_KEPT;
    for (const [index, [id, { view }]] of ended.entries())
      if (index < surplus || Date.now() - Date.parse(view.ended ?? '') > KEPT_MS) this.runs.delete(id);
  }
}
