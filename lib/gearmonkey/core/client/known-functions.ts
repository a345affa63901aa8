import {
  bytesOf,
  codecOf,
  DEFAULT_MAX_PAYLOAD_BYTES,
  payloadBytes,
  read,
  write,
  type Codec,
  type CodecName,
  type Payload,
} from '../../../job/codec.js';
import {
  ChangedByCodecError,
  ConfigurationError,
  InvalidOptionError,
  type PayloadPart,
  PayloadTooLargeError,
  UnknownFunctionError,
  ValidationError,
} from '../../../job/errors.js';
import { functionName, type AnyJobDefinition, type FunctionRef } from '../../../job/job-definition.js';
import { validate } from '../../../job/standard-schema.js';
import type { StandardSchemaV1 } from '@standard-schema/spec';

/** Options for payloads. */
export interface PayloadOptions {
  /** How payloads are encoded unless a definition sets a codec. @default 'json' */
  codec?: CodecName | Codec;
  /** Limit of an input or output, in bytes. @default 1 MiB */
  maxPayloadBytes?: number;
}

/** @throws InvalidOptionError */
export function maxPayloadBytesOf({ maxPayloadBytes = DEFAULT_MAX_PAYLOAD_BYTES }: PayloadOptions): number {
  if (typeof maxPayloadBytes !== 'number' || !(maxPayloadBytes > 0))
    throw new InvalidOptionError('maxPayloadBytes', maxPayloadBytes, 'a number above 0');
  return maxPayloadBytes;
}

/** What a client encodes. */
type SentPart = Exclude<PayloadPart, 'step output'>;

/** The part of a definition that a handler may say instead. */
export type HandlerSettings = Pick<AnyJobDefinition, 'limit'>;

/** The functions that a client knows, with their codecs and schemas. */
export class KnownFunctions {
  private readonly definitions = new Map<string, AnyJobDefinition>();
  private readonly codec: Codec;
  private readonly maxPayloadBytes: number;

  /** @throws InvalidOptionError */
  constructor(
    options: PayloadOptions,
    /** Whether other functions than the registered ones are refused. */
    private readonly restricted: boolean,
    /** What features read of definitions when jobs are created: a job of a function with any of it is no plain one. */
    private readonly settings: readonly (keyof AnyJobDefinition)[],
    /** The functions that this process has handlers of, and what those say, which goes before definitions. */
    readonly handlers: Map<string, HandlerSettings> = new Map(),
  ) {
    this.codec = codecOf(options.codec);
    this.maxPayloadBytes = maxPayloadBytesOf(options);
  }

  /** Returns whether it is new. @throws ConfigurationError for a second definition of one name */
  register(definition: AnyJobDefinition): boolean {
    const known = this.definitions.get(definition.name);
    if (known === definition) return false;
    if (known) {
      throw new ConfigurationError(
        `"${definition.name}" is defined twice. Export one defineJob('${definition.name}') and use it everywhere.`,
      );
    }
    this.definitions.set(definition.name, definition);
    return true;
  }

  /** Undoes `register`. */
  forget(definition: AnyJobDefinition): void {
    if (this.definitions.get(definition.name) === definition) this.definitions.delete(definition.name);
  }

  /** @throws InvalidFunctionNameError, UnknownFunctionError */
  nameOf(ref: FunctionRef): string {
    const name = functionName(ref);
    if (this.restricted && !this.definitions.has(name))
      throw new UnknownFunctionError(name, [...this.definitions.keys()]);
    return name;
  }

  /** The functions of this process: those with definitions, and those with handlers. */
  names(): string[] {
    return [...new Set([...this.definitions.keys(), ...this.handlers.keys()])];
  }

  /** Whether `nameOf` accepts this name. */
  knows(name: string): boolean {
    return !this.restricted || this.definitions.has(name);
  }

  codecOf(ref: FunctionRef): Codec {
    return this.definitionOf(ref)?.codec ?? this.codec;
  }

  /** What the handler of this process says, or else the definition. */
  setting<Name extends keyof AnyJobDefinition>(
    ref: FunctionRef,
    name: Name,
  ): AnyJobDefinition[Name] | undefined {
    const handler: Partial<AnyJobDefinition> | undefined = this.handlers.get(this.nameOf(ref));
    return handler?.[name] ?? this.definitionOf(ref)?.[name];
  }

  /**
   * The name and encoded input of a job that needs nothing else; undefined if its function has a schema, or adds something.
   *
   * @throws as `nameOf` · NotSerializableError, PayloadTooLargeError
   */
  plain(ref: FunctionRef, input: unknown): [fn: string, Payload] | undefined {
    const fn = this.nameOf(ref);
    const definition = this.definitionOf(ref);
    if (definition?.input || definition?.expires !== undefined) return undefined;
    const handler: Partial<AnyJobDefinition> | undefined = this.handlers.get(fn);
    for (const name of this.settings)
      if ((handler?.[name] ?? definition?.[name]) !== undefined) return undefined;
    return [fn, this.write(definition?.codec, fn, input)];
  }

  /** This process has a handler of a function, which may say something instead of its definition. */
  addHandler(fn: string, settings: HandlerSettings): void {
    this.handlers.set(fn, settings);
  }

  /** Undoes `addHandler`. */
  removeHandler(fn: string): void {
    this.handlers.delete(fn);
  }

  /**
   * Encodes an input; synchronously if there is no schema.
   *
   * @throws ValidationError, ChangedByCodecError, NotSerializableError, PayloadTooLargeError
   */
  encode(ref: FunctionRef, input: unknown): Payload | Promise<Payload> {
    const fn = this.nameOf(ref);
    const schema = this.definitionOf(ref)?.input;
    return schema ? this.encodeChecked(schema, ref, input) : this.write(this.codecOf(ref), fn, input);
  }

  /** Also checks what the handler will read: a codec may change an input, as JSON turns a Date into text. */
  private async encodeChecked(schema: StandardSchemaV1, ref: FunctionRef, input: unknown): Promise<Payload> {
    const fn = this.nameOf(ref);
    const codec = this.codecOf(ref);
    try {
      // The input itself is sent, not the schema's result: the schema is applied again before the handler runs.
      const payload = this.write(codec, fn, input);
      await validate(schema, fn, 'input', read(codec, fn, 'input', bytesOf(payload)));
      return payload;
    } catch (error) {
      await validate(schema, fn, 'input', input);
      throw error instanceof ValidationError ? new ChangedByCodecError(fn, codec.name, error) : error;
    }
  }

  /** Encodes what is sent to a job beside its input. @throws NotSerializableError, PayloadTooLargeError */
  encodeAs(part: SentPart, ref: FunctionRef, data: unknown): Payload {
    return this.write(this.codecOf(ref), this.nameOf(ref), data, part);
  }

  private write(codec: Codec | undefined, fn: string, value: unknown, what: SentPart = 'input'): Payload {
    const payload = write(codec ?? this.codec, fn, what, value);
    const bytes = payloadBytes(payload);
    if (bytes > this.maxPayloadBytes) throw new PayloadTooLargeError(fn, what, bytes, this.maxPayloadBytes);
    return payload;
  }

  /** A definition, or the one that is registered by this name. */
  definitionOf(ref: FunctionRef): AnyJobDefinition | undefined {
    return typeof ref === 'string' ? this.definitions.get(ref) : ref;
  }
}
