import { ALL_CAPABILITIES, type SourceCapabilities } from '../../lib/job/source-capabilities.js';

/** What each source must go on being able to do: the contract leaves out only what is `false` here. */
export const CAPABILITIES = {
  gearmonkey: ALL_CAPABILITIES,
  memory: ALL_CAPABILITIES,
  qless: { ...ALL_CAPABILITIES, count: false, options: false, snooze: false, steps: false, limits: false },
  jq: {
    ...ALL_CAPABILITIES,
    count: false,
    scheduled: false,
    progress: false,
    leases: false,
    options: false,
    snooze: false,
    steps: false,
    limits: false,
  },
  jobd: {
    ...ALL_CAPABILITIES,
    count: false,
    priorities: false,
    progress: false,
    leases: false,
    options: false,
    snooze: false,
    steps: false,
    limits: false,
  },
} satisfies Record<string, SourceCapabilities>;
