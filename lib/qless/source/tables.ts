import type { SourceTables } from '../../job/source-tables.js';
import type { AskQless } from '../queues/ask-qless.js';
import { act, open, put } from '../queues/qless-acts.js';
import { readTable, VIEWS } from '../queues/qless-tables.js';

/** What people see of a qless, and do to it. */
export function tablesOf(ask: AskQless): SourceTables {
  return {
    views: VIEWS,
    verbs: ['run', 'retry', 'cancel', 'discard', 'pause', 'resume'],
    enqueue: { fn: 'queue', input: 'data', kind: 'klass', enqueue: (job) => put(ask, job) },
    read: (view, page) => readTable(ask, view, page),
    open: (view, key) => open(ask, view, key),
    act: (request) => act(ask, request),
  };
}
