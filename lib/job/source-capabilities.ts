/** Features that some sources lack. Each source declares its own in `JobSource.capabilities`, and nowhere else. */
export interface SourceCapabilities {
  /** Workers are counted. */
  readonly count: boolean;
  /** Jobs go by priority: high, normal, low. */
  readonly priorities: boolean;
  /** Jobs may wait for a time. */
  readonly scheduled: boolean;
  /** Progress is recorded; without this, `progress` does nothing. */
  readonly progress: boolean;
  /** Claims expire, and a job that loses its worker too often ends as an error. */
  readonly leases: boolean;
  /** A job may have its own options. */
  readonly options: boolean;
  /** Jobs of a function may have limits by key. */
  readonly limits: boolean;
  /** A job may record steps, which its later runs don't run again. */
  readonly steps: boolean;
  /** A job may run again later without an attempt being counted. */
  readonly snooze: boolean;
}

/** All features. A source that lacks some spreads this and sets those to false. */
export const ALL_CAPABILITIES: SourceCapabilities = {
  count: true,
  priorities: true,
  scheduled: true,
  progress: true,
  leases: true,
  options: true,
  snooze: true,
  steps: true,
  limits: true,
};
