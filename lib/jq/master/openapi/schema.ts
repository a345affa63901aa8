import { defined } from '../../../job/defined.js';
import { MAX_BATCH } from '../../wire/batch.js';
import { MAX_INT32, MIN_INT32 } from '../../wire/fields.js';
import { MAX_NAME_BYTES } from '../../wire/requests.js';

/** The part of JSON Schema that OpenAPI 3.0 supports and this document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly default?: string | number | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly minProperties?: number;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
}

type Properties = Readonly<Record<string, Schema>>;

/** Exactly these fields: what the master answers. */
export function reply(required: Properties, optional: Properties = {}): Schema {
  return { ...request(required, optional), additionalProperties: false };
}

/** These fields, and others that are ignored: what the master takes. */
export function request(required: Properties, optional: Properties = {}): Schema {
  const names = Object.keys(required);
  return defined({
    type: 'object',
    required: names.length > 0 ? names : undefined,
    properties: { ...required, ...optional },
  });
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

/** A list of as many items as one request may have. */
export function batchOf(items: Schema): Schema {
  return { ...listOf(items), minItems: 1, maxItems: MAX_BATCH };
}

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

export function oneOf(...words: readonly string[]): Schema {
  return { type: 'string', enum: words };
}

export function text(description?: string): Schema {
  return defined({ type: 'string', description });
}

/** Any value that its sender chose. */
export function anything(description: string): Schema {
  return { description };
}

export const FLAG: Schema = { type: 'boolean' };
export const TIME: Schema = { type: 'string', format: 'date-time' };
export const COUNT: Schema = { type: 'integer', minimum: 0 };
export const INT32: Schema = {
  type: 'integer',
  format: 'int32',
  minimum: MIN_INT32,
  maximum: MAX_INT32,
};
export const POSITIVE: Schema = { type: 'integer', minimum: 1, maximum: MAX_INT32 };
export const NAME: Schema = { type: 'string', minLength: 1, maxLength: MAX_NAME_BYTES };
export const JOB_ID: Schema = { type: 'string', pattern: '^[0-9a-f]{12}-[0-9a-f]{8}$' };
export const WORKER_ID: Schema = { type: 'string', pattern: '^[0-9a-f]{16}$' };
export const STATUS: Schema = oneOf('queued', 'running', 'retrying', 'error', 'done');
/** MessagePack maps may have keys of any type; in JSON they are text. */
export const MAP: Schema = {
  type: 'object',
  description: 'A map of the pusher: its values are forwarded as they are.',
};
