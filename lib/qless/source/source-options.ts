/** The options of a source, checked. */
export interface QlessSourceOptions {
  readonly queues: readonly string[];
  readonly popping: 'ordered' | 'round-robin';
  /** This worker's name, unique among all workers. */
  readonly worker: string;
  /** Seconds, or '' for the heartbeat of each queue. */
  readonly lock: number | '';
  readonly onProblem: (message: string) => void;
}
