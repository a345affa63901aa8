import { defined } from '../../../job/defined.js';
import type { Role } from '../master-options.js';
import { text, type Schema } from './schema.js';

export interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

/** One route of the document. */
export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  readonly path: string;
  readonly tag: 'Jobs' | 'Workers' | 'Constraints' | 'Administration' | 'Operation';
  readonly summary: string;
  /** The role that may call it if there are tokens; without it, every client. */
  readonly role?: Role;
  readonly parameters?: readonly Parameter[];
  /** The schema of its body. */
  readonly body?: string;
  /** Status and what it means, with the schema of the reply if it has a body. */
  readonly replies: Readonly<Record<number, readonly [meaning: string, schema?: string]>>;
  /** Statuses of its other replies, which have an Error; those of all routes are left out. */
  readonly errors?: readonly number[];
  /** Media types of its replies, where they are not MessagePack and JSON. */
  readonly media?: readonly string[];
  /** What the master asks of the client afterwards, as OpenAPI says it. */
  readonly callbacks?: object;
  /** Whether it needs Redis. @default true */
  readonly wantsRedis?: boolean;
}

const path = (name: string): Parameter => ({ in: 'path', name, required: true, schema: text() });
export const query = (name: string, schema: Schema, description?: string): Parameter =>
  defined({
    in: 'query',
    name,
    schema,
    description,
  });

export const ID = path('id');
export const NOTHING: readonly [string] = ['Done.'];
