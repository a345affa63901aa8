import type { PullCount } from '../wire/requests.js';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIdempotencyKey, LONGEST_KEY } from '../wire/idempotency-key.js';
import { DEFAULT_POLL_SECONDS, LONGEST_POLL_SECONDS } from '../wire/polling.js';
import { readBody, type BodyLimits } from '../http/read-body.js';
import { fromJson } from '../message-pack/json.js';
import { Raw } from '../message-pack/raw.js';
import { toRaw } from '../message-pack/unpack.js';
import { readBatch, type Element } from '../wire/batch.js';
import { InvalidParameterError } from '../wire/body-errors.js';
import { Fields } from '../wire/fields.js';
import { clientOf } from './client-identity.js';
import { HIGHEST_DEPTH } from './master-options.js';
import { formatOfBody } from '../wire/media-type.js';

type Request = IncomingMessage & {
  readonly query: Readonly<Record<string, unknown>>;
  readonly app: { readonly locals: BodyLimits };
};

/** The body, decoded by `read`. It is read only here: after the guard, and only for routes with a body. */
export const Message = createParamDecorator(
  async (read: (fields: Fields) => unknown, context: ExecutionContext) => {
    const request = requestOf(context);
    const { maxDepth, maxBodyBytes } = request.app.locals;
    const format = formatOfBody(request);
    const body = await readBody(request, maxBodyBytes);
    const raw = format === 'json' ? fromJson(body, maxDepth) : toRaw(body, maxDepth);
    return read(Fields.of(raw));
  },
);

/** The value of `MessageOrBatch`; a batch is a list. */
export type OneOrBatch<T> = T | readonly Element<T>[];

/** One message or an array of them; each has the depth limit of a single one. */
export const MessageOrBatch = createParamDecorator(
  async (read: (fields: Fields) => object, context: ExecutionContext): Promise<OneOrBatch<object>> => {
    const request = requestOf(context);
    const { maxDepth, maxBodyBytes } = request.app.locals;
    const isJson = formatOfBody(request) === 'json';
    const body = await readBody(request, maxBodyBytes);
    const { bytes, isArray } = isJson ? fromJson(body, HIGHEST_DEPTH + 1) : new Raw(body);
    return isArray ? readBatch(bytes, maxDepth, read) : read(Fields.of(toRaw(bytes, maxDepth)));
  },
);

/** The header in all requests of workers. */
export const WorkerId = createParamDecorator((_: undefined, context: ExecutionContext) => {
  const id = requestOf(context).headers['worker-id'];
  if (typeof id === 'string' && id !== '') return id;
  throw new InvalidParameterError('the header worker-id', id, 'the id that POST /worker gave');
});

/** Whether it is a HEAD request: routes of GET receive these too, and must change nothing then. */
export const IsHead = createParamDecorator(
  (_: undefined, context: ExecutionContext) => requestOf(context).method === 'HEAD',
);

/** The key that makes it safe to send a request again; `undefined` without one. */
export const IdempotencyKey = createParamDecorator((_: undefined, context: ExecutionContext) => {
  const key = requestOf(context).headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (isIdempotencyKey(key)) return key;
  const expected = `1 to ${LONGEST_KEY} visible characters of ASCII`;
  throw new InvalidParameterError('the header idempotency-key', key, expected);
});

/** How long a poll may take, in milliseconds. */
export const PollTimeout = createParamDecorator((_: undefined, context: ExecutionContext) => {
  const { timeout } = requestOf(context).query;
  if (timeout === undefined) return DEFAULT_POLL_SECONDS * 1000;
  if (typeof timeout === 'string' && /^\d+$/.test(timeout)) {
    return Math.min(Number(timeout), LONGEST_POLL_SECONDS) * 1000;
  }
  throw new InvalidParameterError('timeout', timeout, `an integer from 0 to ${LONGEST_POLL_SECONDS}`);
});

/** How a worker that pulls counts its pulls. */
export const Pulls = createParamDecorator((_: undefined, context: ExecutionContext): PullCount => {
  const { pull = '0', got = '0' } = requestOf(context).query;
  for (const [name, value] of Object.entries({ pull, got }))
    if (typeof value !== 'string' || !/^\d{1,15}$/.test(value))
      throw new InvalidParameterError(name, value, 'an integer from 0');
  return { pull: Number(pull), got: Number(got) };
});

/** The client, for limits per client. */
export const Client = createParamDecorator((_: undefined, context: ExecutionContext) =>
  clientOf(requestOf(context)),
);

/** Aborts when the client disconnects before the reply is sent. */
export const ClientGone = createParamDecorator((_: undefined, context: ExecutionContext) => {
  const response = context.switchToHttp().getResponse<ServerResponse>();
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
});

function requestOf(context: ExecutionContext): Request {
  return context.switchToHttp().getRequest<Request>();
}
