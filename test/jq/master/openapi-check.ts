import { decode } from '@msgpack/msgpack';
import { Ajv, type ValidateFunction } from 'ajv';
import { openApiDocument } from '../../../lib/jq/master/openapi/document.js';
import type { Reply } from './http.js';

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Holds replies against the master's own OpenAPI document, and remembers what it has seen. */
export class OpenApiCheck {
  readonly document = openApiDocument();
  /** "post /job 201 application/msgpack"; without a media type where there is no body. */
  readonly seen = new Set<string>();
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly ajv = new Ajv({
    strict: false,
    allErrors: true,
    formats: { 'date-time': DATE_TIME, int32: true, uri: true },
  });
  private readonly templates: { readonly path: string; readonly pattern: RegExp }[];

  constructor() {
    this.ajv.addSchema(this.document, 'openapi');
    this.templates = Object.keys(this.document.paths)
      .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
      .toSorted((one, other) => Number(one.path.includes('{')) - Number(other.path.includes('{')));
  }

  /** Everything that the document says may happen, but for the failures that no test can call up. */
  get declared(): string[] {
    return Object.entries(this.document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { responses }]) =>
        Object.entries(responses)
          .filter(([status]) => status !== '500')
          .flatMap(([status, { content }]) =>
            content
              ? Object.keys(content).map((media) => `${method} ${path} ${status} ${media}`)
              : [`${method} ${path} ${status}`],
          ),
      ),
    );
  }

  /** @throws when the document does not say so */
  check(method: string, url: string, reply: Reply): void {
    const path = this.templates.find(({ pattern }) => pattern.test(url.split('?', 1)[0] ?? ''))?.path;
    const operation = path === undefined ? undefined : this.document.paths[path]?.[method.toLowerCase()];
    if (path === undefined || !operation) return;
    const what = `${method.toLowerCase()} ${path} ${reply.status}`;
    const declared = operation.responses[String(reply.status)];
    if (!declared || reply.status === 500) throw new Error(`The document says nothing of ${what}.`);
    for (const header of Object.keys(declared.headers ?? {})) {
      if (!reply.headers.has(header)) throw new Error(`${what} has no ${header}.`);
    }
    this.seen.add(declared.content ? `${what} ${this.checkBody(what, path, method, reply)}` : what);
    if (!declared.content && reply.bytes.length > 0) throw new Error(`${what} has a body.`);
  }

  /** @throws when a master's push is not as the document says */
  checkPush(bytes: Buffer): void {
    const validate = this.validatorOf('components/schemas/Push');
    if (!validate(valueOf('application/msgpack', bytes)))
      throw new Error(`The push is not as the document says: ${this.ajv.errorsText(validate.errors)}`);
  }

  private checkBody(what: string, path: string, method: string, { status, headers, bytes }: Reply): string {
    const media = headers.get('content-type')?.split(';', 1)[0] ?? '';
    const pointer = ['paths', path, method.toLowerCase(), 'responses', status, 'content', media, 'schema'];
    const validate = this.validatorOf(pointer.map((part) => escape(String(part))).join('/'));
    if (!validate(valueOf(media, bytes))) {
      throw new Error(`${what} is not as the document says: ${this.ajv.errorsText(validate.errors)}`);
    }
    return media;
  }

  private validatorOf(pointer: string): ValidateFunction {
    const known = this.validators.get(pointer);
    if (known) return known;
    const made = this.ajv.compile({ $ref: `openapi#/${pointer}` });
    this.validators.set(pointer, made);
    return made;
  }
}

function escape(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function valueOf(media: string, bytes: Buffer): unknown {
  if (media === 'application/json') return JSON.parse(bytes.toString()) as unknown;
  if (media === 'application/msgpack') return decode(bytes, { mapKeyConverter: String });
  return bytes.toString();
}
