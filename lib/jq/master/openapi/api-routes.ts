import { DEFAULT_CLEARED, DEFAULT_LIMIT, MAX_CLEARED, MAX_LIMIT } from '../api/query.js';
import { ID, NOTHING, query, type Route } from './route.js';
import { NAME, STATUS, text } from './schema.js';

const PAGE = [
  query('limit', { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }),
  query('cursor', text(), 'As the page before gave it.'),
];
const OF_NAME = query('name', NAME, 'Only jobs of this name.');
const CLEAR = [
  OF_NAME,
  query('limit', { type: 'integer', minimum: 1, maximum: MAX_CLEARED, default: DEFAULT_CLEARED }),
];
const API = { tag: 'Administration', role: 'admin' } as const;

/** Routes for operators and their web pages. */
export const API_ROUTES: readonly Route[] = [
  {
    ...API,
    method: 'get',
    path: '/api/jobs',
    summary: 'Lists jobs; those of a status by when they got it, the last first',
    parameters: [query('status', STATUS), OF_NAME, ...PAGE],
    replies: { 200: ['A page. It may be short though others follow.', 'JobPage'] },
    errors: [400],
  },
  {
    ...API,
    method: 'get',
    path: '/api/jobs/{id}',
    summary: 'All that is known of a job; its result does not count as read',
    parameters: [ID],
    replies: { 200: ['The job.', 'JobDetails'] },
    errors: [404],
  },
  {
    ...API,
    method: 'delete',
    path: '/api/jobs/{id}',
    summary: 'Discards a job that no worker has',
    parameters: [ID],
    replies: { 204: NOTHING },
    errors: [404, 409],
  },
  {
    ...API,
    method: 'post',
    path: '/api/jobs/{id}/retry',
    summary: 'Begins a failed job anew, or tries one at once that waits for its next attempt',
    parameters: [ID],
    replies: { 204: NOTHING },
    errors: [404, 409, 429],
  },
  {
    ...API,
    method: 'get',
    path: '/api/dead-letters',
    summary: 'Lists the jobs that failed for good, the last first',
    parameters: [OF_NAME, ...PAGE],
    replies: { 200: ['A page.', 'JobPage'] },
    errors: [400],
  },
  {
    ...API,
    method: 'delete',
    path: '/api/dead-letters',
    summary: 'Discards dead letters, the oldest first',
    parameters: CLEAR,
    replies: { 200: ['How many.', 'Cleared'] },
    errors: [400],
  },
  {
    ...API,
    method: 'post',
    path: '/api/dead-letters/requeue',
    summary: 'Begins dead letters anew, the oldest first',
    parameters: CLEAR,
    replies: { 200: ['How many.', 'Cleared'] },
    errors: [400, 429],
  },
  {
    ...API,
    method: 'post',
    path: '/api/dead-letters/{id}/requeue',
    summary: 'Begins a dead letter anew',
    parameters: [ID],
    replies: { 204: NOTHING },
    errors: [404, 409, 429],
  },
  {
    ...API,
    method: 'delete',
    path: '/api/dead-letters/{id}',
    summary: 'Discards a dead letter',
    parameters: [ID],
    replies: { 204: NOTHING },
    errors: [404, 409],
  },
  {
    ...API,
    method: 'get',
    path: '/api/workers',
    summary: 'Lists the workers, the last to register first',
    parameters: PAGE,
    replies: { 200: ['A page.', 'WorkerPage'] },
    errors: [400],
  },
  {
    ...API,
    method: 'get',
    path: '/api/workers/{id}',
    summary: 'A worker and what it has',
    parameters: [ID],
    replies: { 200: ['The worker.', 'WorkerDetails'] },
    errors: [404],
  },
  {
    ...API,
    method: 'delete',
    path: '/api/workers/{id}',
    summary: 'Forgets a worker, and gives its jobs back',
    parameters: [ID],
    replies: { 204: NOTHING },
    errors: [404],
  },
  {
    ...API,
    method: 'get',
    path: '/api/counts',
    summary: 'Counts jobs by status, and workers',
    replies: { 200: ['The counts.', 'Counts'] },
  },
  {
    ...API,
    method: 'get',
    path: '/api/names',
    summary: 'Lists names of jobs, with how many there are of each',
    parameters: PAGE,
    replies: { 200: ['A page.', 'NamePage'] },
    errors: [400],
  },
];

/** Routes for operators. */
export const OPERATION_ROUTES: readonly Route[] = [
  {
    method: 'get',
    path: '/health/live',
    tag: 'Operation',
    summary: 'Whether the process is well',
    replies: { 200: ['It is.', 'Health'] },
    wantsRedis: false,
  },
  {
    method: 'get',
    path: '/health/ready',
    tag: 'Operation',
    summary: 'Whether requests make sense: Redis answers, and the master is not about to end',
    replies: { 200: ['They do.', 'Health'] },
  },
  {
    method: 'get',
    path: '/metrics',
    tag: 'Operation',
    role: 'metrics',
    summary: 'Figures for Prometheus; 404 where they are off',
    replies: { 200: ['Text of Prometheus.', 'Metrics'] },
    errors: [404],
    media: ['text/plain'],
    wantsRedis: false,
  },
  {
    method: 'get',
    path: '/openapi.json',
    tag: 'Operation',
    summary: 'This document',
    replies: { 200: ['OpenAPI 3.', 'OpenApi'] },
    media: ['application/json'],
    wantsRedis: false,
  },
];
