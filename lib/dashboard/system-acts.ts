import type { SourceTables } from '../job/source-tables.js';
import type { ActReply, ActRequest } from './api.js';
import { ApiFailure } from './dashboard-errors.js';
import { inputOf } from './request-input.js';
import { askSystem } from './system-questions.js';

const MAX_KEY = 2048;

/** Does what a request asks to qless, JQ or jobd. @throws ApiFailure 400, 404, 502, 503 */
export async function actOnSystem(tables: SourceTables, fn: string, request: ActRequest): Promise<ActReply> {
  const { action, row, kind = '' } = request;
  const verb = tables.verbs.find((one) => one === action);
  if (!verb) throw ApiFailure.invalid('action', `one of ${tables.verbs.join(', ')}`);
  if (request.dry) return { ok: true, count: 1 };
  if (row === undefined) return enqueue(tables, { fn, action, kind, input: inputOf(request) });
  const { view, key } = row;
  if (!tables.views.includes(view) || typeof key !== 'string' || key.length > MAX_KEY)
    throw ApiFailure.invalid('row', 'a row of a table');
  const count = await askSystem(() => tables.act({ view, verb, key, fn }));
  return { ok: true, count, changed: count > 0 };
}

async function enqueue(
  { enqueue: can }: SourceTables,
  { action, ...job }: { action: string; fn: string; kind: string; input: unknown },
): Promise<ActReply> {
  if (action !== 'run' || !can) throw ApiFailure.invalid('row', 'the row that it is about');
  if (typeof job.kind !== 'string') throw ApiFailure.invalid('kind', 'text');
  return { ok: true, id: await askSystem(() => can.enqueue(job)) };
}
