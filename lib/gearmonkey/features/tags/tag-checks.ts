import {
  listOf,
  type Examination,
  type Examined,
  type FeatureCheck,
  type Suspicion,
} from '../../core/examination.js';

const KEPT_SECONDS = 30 * 86_400;

export const tagChecks: FeatureCheck = { of: 'tags', check: checkTags };

/** Compares jobs with the index of tags. */
async function checkTags({ redis }: Examination, { fn, keys, jobs }: Examined): Promise<Suspicion[]> {
  const missing = new Map<string, string[]>();
  for (const { id, tags } of jobs) {
    const entries = tags.map((tag) => entryOf(tag, id));
    const scores = await Promise.all(entries.map((entry) => redis.zscore(keys.tags, entry)));
    if (scores.includes(null)) missing.set(id, entries);
  }
  if (missing.size === 0) return [];
  const add = async (ids: readonly string[]) => {
    const entries = ids.flatMap((id) => missing.get(id) ?? []);
    await redis.zadd(keys.tags, ...entries.flatMap((entry) => ['0', entry]));
    if ((await redis.pttl(keys.tags)) === -1) await redis.expire(keys.tags, KEPT_SECONDS);
  };
  return [
    {
      code: 'TAGS_NOT_INDEXED',
      ids: [...missing.keys()],
      finding: (ids) => ({
        code: 'TAGS_NOT_INDEXED',
        severity: 'warning',
        fn,
        title: `${ids.length} sampled jobs of ${fn} are not found by their tags: ${listOf(ids)}.`,
        remedy: `${keys.tags} was deleted or evicted, or has expired. Tags of new jobs are found.`,
        fix: { does: 'adds the tags of these jobs, and no others', apply: () => add(ids) },
      }),
    },
  ];
}

/** As tag-entry.lua. Ids are digits here. */
function entryOf(tag: string, id: string): string {
  return `${tag}\0${String(id.length).padStart(2, '0')}${id}`;
}
