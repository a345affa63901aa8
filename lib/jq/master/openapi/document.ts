import { PACKAGE_VERSION } from '../../../package/package-version.embedded.js';
import { defined } from '../../../job/defined.js';
import { JSON_TYPE, MESSAGE_PACK } from '../../wire/media-type.js';
import { API_ROUTES, OPERATION_ROUTES } from './api-routes.js';
import { API_SCHEMAS } from './api-schemas.js';
import { CONTRACT_ROUTES } from './contract-routes.js';
import { CONTRACT_SCHEMAS } from './contract-schemas.js';
import type { Parameter, Route } from './route.js';
import { ref, text, type Schema } from './schema.js';

const BOTH = [MESSAGE_PACK, JSON_TYPE];

/** Explains each error; routes name their own. */
const ERRORS: Readonly<Record<number, string>> = {
  400: 'Malformed: the message says what was expected.',
  401: 'The master wants a token, or another one.',
  403: 'The token is for another role, or the callback is not allowed.',
  404: 'There is none: it never was, or was forgotten.',
  408: 'Not yet. Ask again.',
  409: 'Its state does not allow it. Nothing was changed.',
  413: 'The body is too large.',
  415: 'The body is neither MessagePack nor JSON, or is compressed.',
  422: 'The Idempotency-Key was used for another job.',
  429: 'There are too many. Retry-After says when to try again.',
  500: 'The master failed.',
  503: 'Redis does not answer, or the master is about to end. Retry-After says when to try again.',
};
const WITH_RETRY_AFTER = [429, 503];
const OF_BODIES = [400, 413, 415];
const OF_ROLES = [401, 403];

interface Content {
  readonly schema: Schema;
}

interface Reply {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Content>>;
  readonly content?: Readonly<Record<string, Content>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: true; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Reply>>;
  readonly callbacks?: object;
}

export interface OpenApiDocument {
  readonly openapi: '3.0.3';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

const TAGS = [
  { name: 'Jobs', description: 'For pushers.' },
  { name: 'Workers', description: 'For workers.' },
  { name: 'Constraints', description: 'Limits on jobs, changed while they wait and run.' },
  { name: 'Administration', description: 'For people, and for pages made for them.' },
  { name: 'Operation', description: 'For those who run the master.' },
];

const DESCRIPTION =
  'Bodies are MessagePack, or JSON for clients that send it (unless they accept MessagePack alone) or accept it. What is absent is left out, never nil; ' +
  'a `result` alone may be nil. Tokens are wanted only where the master was given some.';

/** OpenAPI of the master, complete but for the page that shows it. */
export function openApiDocument(): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of [...CONTRACT_ROUTES, ...API_ROUTES, ...OPERATION_ROUTES]) {
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route) };
  }
  return {
    openapi: '3.0.3',
    info: { title: 'JQ master', version: PACKAGE_VERSION, description: DESCRIPTION },
    tags: TAGS,
    paths,
    components: {
      schemas: { ...CONTRACT_SCHEMAS, ...API_SCHEMAS, Metrics: text() },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

const TOKEN_OR_NONE: NonNullable<Operation['security']> = [{ token: [] }, {}];

function operationOf(route: Route): Operation {
  const { method, path, tag, summary, role, parameters, body, callbacks } = route;
  return defined({
    operationId: [method, ...path.split(/\W+/)].filter(Boolean).join('-'),
    tags: [tag],
    summary,
    security: role ? TOKEN_OR_NONE : undefined,
    parameters,
    requestBody: body === undefined ? undefined : { required: true, content: contentOf(BOTH, body) },
    responses: repliesOf(route),
    callbacks,
  });
}

function repliesOf(route: Route): Record<string, Reply> {
  const { replies, errors = [], media = BOTH, role, body, wantsRedis = true } = route;
  const statuses = new Set([
    ...errors,
    ...(role ? OF_ROLES : []),
    ...(body === undefined ? [] : OF_BODIES),
    ...(wantsRedis ? [503] : []),
    500,
  ]);
  return {
    ...Object.fromEntries(
      Object.entries(replies).map(([status, [description, schema]]) => [
        status,
        defined({ description, content: schema === undefined ? undefined : contentOf(media, schema) }),
      ]),
    ),
    ...Object.fromEntries([...statuses].map((status) => [status, errorOf(status)])),
  };
}

function errorOf(status: number): Reply {
  const seconds: Schema = { type: 'integer', minimum: 0, description: 'Seconds.' };
  return defined({
    description: ERRORS[status] ?? '',
    headers: WITH_RETRY_AFTER.includes(status) ? { 'retry-after': { schema: seconds } } : undefined,
    content: contentOf(BOTH, 'Error'),
  });
}

function contentOf(media: readonly string[], schema: string): Record<string, Content> {
  return Object.fromEntries(media.map((type) => [type, { schema: ref(schema) }]));
}
