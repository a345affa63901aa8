import { decode } from '@msgpack/msgpack';
import type { QueueOverview } from '../../job/job-views.js';
import { toRaw } from '../message-pack/unpack.js';
import { refused, type MasterReply } from './master-http.js';

/** Names of a page, and how many pages are read. */
const A_PAGE = 100;
const MOST_PAGES = 10;
const MAX_DEPTH = 10;

/** A reply of the master to `GET /api/names`. */
interface NamesReply {
  readonly names: readonly NameCounts[];
  readonly cursor?: string | null;
}

interface NameCounts {
  readonly name: string;
  readonly queued: number;
  readonly retrying: number;
  readonly error: number;
  readonly done: number;
}

/** The names of jobs, at most 1,000. @throws JqRefusedError if the token may not list them */
export async function readOverview(get: (path: string) => Promise<MasterReply>): Promise<QueueOverview[]> {
  const found: QueueOverview[] = [];
  let cursor: string | null | undefined;
  for (let pages = 0; pages < MOST_PAGES && cursor !== null; pages++) {
    const after = cursor ? `&cursor=${encodeURIComponent(cursor)}` : '';
    const reply = await get(`/api/names?limit=${A_PAGE}${after}`);
    if (reply.status !== 200) throw refused('An overview', reply);
    const page = decode(toRaw(reply.body, MAX_DEPTH).bytes) as NamesReply;
    found.push(...page.names.map(toOverview));
    cursor = page.cursor ?? null;
  }
  return found;
}

function toOverview({ name, queued, retrying, error, done }: NameCounts): QueueOverview {
  const waiting = { high: 0, normal: queued, low: 0 };
  return { fn: name, waiting, retrying, failed: error, succeeded: done };
}
