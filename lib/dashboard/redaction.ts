import { ignore, isThenable } from './thenable.js';
import { isUtf8 } from 'node:buffer';
import { Inject, Injectable } from '@nestjs/common';
import { codecOf, type Codec } from '../job/codec.js';
import type { JobErrorInfo } from '../job/errors.js';
import { DASHBOARD, type CheckedDashboard, type ShownText } from './dashboard.options.js';
import type { wholeJob } from './job-view.js';
import { plainValue, shownText, type TextOfBytes } from './shown-text.js';

/** What is shown if `redact` throws or returns no text, or can't be asked: never the text itself. */
const HIDDEN = '(hidden)';
/** Most characters that are shown. */
const MOST_OPTIONS = 16_000;
const MOST_FIELD = 1000;
const MOST_FIELD_NAME = 255;
/** Less than the server cuts a message at that a plain worker wrote. */
const MOST_MESSAGE = 65_536;
/** `redact` gets so many times as much: a pattern does not match what is left of a secret that was cut. */
const MORE = 16;
/** An escape of JSON that `JSON.stringify` would not write: PHP escapes slashes. */
const ESCAPED = /\\[u/]/;
/** Those that are decoded. Another codec may encrypt: then what it wrote must not be shown in the clear. */
const READABLE: readonly Codec[] = [codecOf('json'), codecOf('msgpack')];

type Shown = Pick<ShownText, 'instance' | 'fn'>;
interface ShownValue {
  readonly part: ShownText['part'];
  readonly of: Shown;
  readonly most: number;
  readonly each?: number | undefined;
}
type WholeJob = ReturnType<typeof wholeJob>;

/** Text in place of bytes that a job has. */
export interface RedactedText extends TextOfBytes {
  /** Whether it is not what is stored. */
  readonly redacted: boolean;
  /** Whether nothing of it may be shown. */
  readonly hidden: boolean;
}

/** Passes everything that people wrote into jobs through the app's `redact`: the only way of texts to a page. */
@Injectable()
export class Redaction {
  constructor(@Inject(DASHBOARD) private readonly options: CheckedDashboard) {}

  /** Whether there is a `redact`. */
  get isOn(): boolean {
    return this.options.redact !== undefined;
  }

  text(text: string, part: ShownText['part'], of: Shown): string {
    const { redact } = this.options;
    if (!redact) return text;
    try {
      const shown: unknown = redact({ text, part, instance: of.instance, fn: of.fn });
      if (isThenable(shown)) ignore(shown);
      return typeof shown === 'string' ? shown : HIDDEN;
    } catch {
      return HIDDEN;
    }
  }

  /** At most so many characters, cut when `redact` has seen more of them. */
  private begin(text: string, part: ShownText['part'], of: Shown, most = Infinity): string {
    return this.text(text.slice(0, MORE * most), part, of).slice(0, most);
  }

  /**
   * Bytes as text. A pattern finds nothing in base64, nor in JSON with escapes: they are decoded first. What can't be decoded
   * is hidden.
   *
   * @param isWhole whether these are all bytes: a part can't be decoded
   */
  bytes(
    bytes: Buffer,
    { codec, isWhole, part, of }: { codec?: Codec; isWhole: boolean; part: ShownText['part']; of: Shown },
  ): RedactedText {
    const stored = shownText(bytes);
    if (!this.isOn) return { ...stored, redacted: false, hidden: false };
    const isPlain = stored.encoding === 'utf8' && !(codec === READABLE[0] && ESCAPED.test(stored.text));
    const readable = isPlain ? stored.text : isWhole ? decoded(codec, bytes) : undefined;
    if (readable === undefined) return { text: HIDDEN, encoding: 'utf8', redacted: true, hidden: true };
    const text = this.text(readable, part, of);
    return { text, encoding: 'utf8', redacted: text !== stored.text, hidden: false };
  }

  /**
   * A value of qless, JQ or jobd as text, at most so many characters. A pattern finds nothing in texts that JSON escapes:
   * `redact` gets each of these by itself, and then the JSON of all. Bytes that are no text are hidden.
   *
   * @param each most characters of a text in it
   */
  value(value: unknown, { part, of, most, each = most }: ShownValue): string {
    const begin = (text: string, longest: number) =>
      this.begin(this.isOn ? readable(text.slice(0, MORE * longest)) : text, part, of, longest);
    const plain = plainValue(value, (bytes) => (this.isOn ? HIDDEN : bytes.toString('base64')));
    if (typeof plain !== 'object') return begin(String(plain), most);
    const json = JSON.stringify(plain, (_name, one: unknown) =>
      typeof one === 'string' && (one.length > each || isEscaped(one)) ? begin(one, each) : one,
    );
    return indented(this.text(json.slice(0, MORE * most), part, of)).slice(0, most);
  }

  error<E extends JobErrorInfo>(error: E, of: Shown): E {
    if (!this.isOn) return error;
    const { name, code, message, stack, cause } = error;
    return {
      ...error,
      name: this.text(name, 'error', of),
      message: this.text(message, 'error', of).slice(0, MOST_MESSAGE),
      ...(code !== undefined && { code: this.text(code, 'error', of) }),
      ...(stack !== undefined && { stack: this.text(stack, 'error', of) }),
      ...(cause !== undefined && { cause: this.error(cause, of) }),
    };
  }

  /** What people and programs have written into a job. Its keys, tags and worker are names to find it by: they stay. */
  job(job: WholeJob, of: Shown): WholeJob {
    const all = (
      texts: Readonly<Record<string, string>>,
      part: 'header' | 'field',
      most = [Infinity, Infinity],
    ) =>
      Object.fromEntries(
        Object.entries(texts).map((pair) => pair.map((text, at) => this.begin(text, part, of, most[at]))),
      ) as Record<string, string>;
    const { error, errors, headers, options, more, waitsFor, steps } = job;
    return {
      ...job,
      ...(error && { error: this.error(error, of) }),
      errors: errors.map((one) => this.error(one, of)),
      headers: all(headers, 'header'),
      more: all(this.isOn ? unescaped(more) : more, 'field', [MOST_FIELD_NAME, MOST_FIELD]),
      ...(options !== undefined && { options: this.begin(options, 'field', of, MOST_OPTIONS) }),
      ...(waitsFor && {
        waitsFor: waitsFor.map((signal) => this.begin(signal, 'name', of, MOST_FIELD)),
      }),
      ...(steps && { steps: steps.map((step) => ({ ...step, name: this.text(step.name, 'name', of) })) }),
    };
  }
}

/** Fields that may be JSON, as `redact` gets them. */
function unescaped(fields: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, readable(text)]));
}

/** Text that may be JSON, without escapes that hide what is there. */
function readable(text: string): string {
  if (!ESCAPED.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    // The beginning of JSON, or text that is none.
    return text
      .replaceAll('\\/', '/')
      .replaceAll(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
  }
}

/** Whether JSON has it in other characters. */
function isEscaped(text: string): boolean {
  return JSON.stringify(text).length !== text.length + 2;
}

/** JSON as people read it, and other texts as they are. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

/** A value as JSON; undefined if it can't be read. */
function decoded(codec: Codec | undefined, bytes: Buffer): string | undefined {
  if (!codec || !READABLE.includes(codec)) return undefined;
  try {
    // Not a Buffer: parts of it would be written as lists of numbers.
    return JSON.stringify(codec.decode(new Uint8Array(bytes)), plain) ?? 'null';
  } catch {
    return undefined;
  }
}

function plain(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (!(value instanceof Uint8Array)) return value;
  if (!isUtf8(value)) throw new TypeError('it has bytes that are no text');
  return Buffer.from(value).toString();
}
