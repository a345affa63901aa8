/** What not every source can do. Each says it of itself in `JobSource.capabilities`, and nowhere else. */
export interface SourceCapabilities {
  /** Workers are counted. */
  readonly count: boolean;
  /** Jobs go by priority: high, normal, low. */
  readonly priorities: boolean;
  /** Jobs may wait for a time. */
  readonly scheduled: boolean;
  /** Progress is recorded; elsewhere `progress` does nothing. */
  readonly progress: boolean;
  /** Claims expire, and a job that loses its worker too often ends as an error. */
  readonly leases: boolean;
  /** A job may say itself how it is run. */
  readonly options: boolean;
}

/** A source that does everything: one that does less spreads this and says what it lacks. */
export const ALL_CAPABILITIES: SourceCapabilities = {
  count: true,
  priorities: true,
  scheduled: true,
  progress: true,
  leases: true,
  options: true,
};
