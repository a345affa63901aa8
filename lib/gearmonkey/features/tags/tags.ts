import { explainRefusal, type Call } from '../../../redis/rights.js';
import type { JobStore } from '../../core/client/job-store.js';
import type { PlaceHook } from '../../core/client/new-jobs.js';
import type { Feature } from '../../core/feature.js';
import type { FunctionKeys } from '../../core/wire/protocol.js';
import type { ExplainMore } from '../../core/wire/rights.js';

const X = 'x';
/** How `apart` of jobs with tags begins. */
const TAGGED = 'tagged ';

/** Jobs with tags are apart, so that those alone are refused if the user has no right to the index of tags. */
const placeTagged: PlaceHook = {
  place: (_functions, _ref, placement, { tags }) =>
    tags === undefined || tags.length === 0
      ? placement
      : { ...placement, apart: TAGGED + (placement.apart ?? '') },
};

/** The calls that enqueueing with tags needs, beside a client's. */
function taggedCalls(k: FunctionKeys): Call[] {
  return [
    ['ZADD', k.tags, '0', X],
    ['ZREM', k.tags, X],
    ['ZRANDMEMBER', k.tags],
    ['PTTL', k.tags],
    ['EXPIRE', k.tags, '1'],
  ];
}

/** If Redis refused jobs with tags for a right that those need, returns an error that names it; otherwise `refusal`. */
const explainOfTags: ExplainMore = async (commands, refusal, fn, k, jobs) => {
  if (!jobs?.placement.apart?.startsWith(TAGGED)) return refusal;
  return explainRefusal(commands, refusal, taggedCalls(k), `a client of "${fn}" with tags`);
};

/** Words that jobs are found by: `views` finds them. */
export const tags: Feature<JobStore> = { name: 'tags', place: placeTagged, explain: explainOfTags };
