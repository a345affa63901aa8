import type { SourceFrame } from '../../redis/source-frame.js';
import type { FlowSettler } from './flow-settler.js';
import type { HeldClaims } from './held-claims.js';
import type { Ticker } from '../recurring/ticker.js';
import type { Problems } from './problems.js';
import type { SourceKeep } from './source-keep.js';
import type { SourceLimits } from './source-limits.js';
import type { RedisSourceOptions, SourceConnections } from './source-options.js';

/** The parts that a Claimer uses. */
export interface ClaimerParts {
  readonly connections: SourceConnections;
  /** This worker's unique name. */
  readonly worker: string;
  readonly options: Required<RedisSourceOptions>;
  readonly held: HeldClaims;
  readonly frame: SourceFrame;
  readonly problems: Problems;
  readonly limits: SourceLimits;
  readonly keep: SourceKeep;
  readonly ticker: Ticker;
  readonly flows: FlowSettler;
}
