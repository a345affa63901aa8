import { messageOf } from '../../job/errors.js';
import { printable } from '../../job/printable.js';
import { withoutSecrets } from '../../job/secrets.js';
import { tableLines } from './table.js';

const RESET = '\u001b[0m';
const COLOURS = { red: '\u001b[31m', green: '\u001b[32m', yellow: '\u001b[33m', dim: '\u001b[2m' } as const;

/** What the program prints. Text from Redis may be hostile: control characters are escaped. */
export class Output {
  readonly #hasColours: boolean;

  constructor(readonly json: boolean) {
    const { NO_COLOR, TERM } = process.env;
    this.#hasColours = process.stdout.isTTY === true && !NO_COLOR && TERM !== 'dumb' && !json;
  }

  /** A line for people, or with `--json` the value, also on one line. */
  show(value: unknown, text: string | readonly string[]): void {
    if (this.json) return this.write(toJson(value));
    for (const line of typeof text === 'string' ? [text] : text) this.write(line);
  }

  /** On a terminal its lines are cut to the terminal's width. */
  table(value: unknown, columns: readonly string[], rows: readonly (readonly string[])[]): void {
    const { isTTY, columns: width } = process.stdout;
    this.show(value, tableLines(columns, rows, isTTY ? width : undefined));
  }

  write(line: string): void {
    process.stdout.write(`${line}\n`);
  }

  /** Hints go to stderr, and only to people. */
  hint(line: string): void {
    if (!this.json) process.stderr.write(`${line}\n`);
  }

  error(error: unknown): void {
    const message = printable(withoutSecrets(messageOf(error)));
    const { code } = error as { code?: unknown };
    const text = this.json ? toJson({ error: { code, message } }) : message;
    process.stderr.write(`${text}\n`);
  }

  paint(colour: keyof typeof COLOURS, text: string): string {
    return this.#hasColours ? `${COLOURS[colour]}${text}${RESET}` : text;
  }
}

/** JSON on one line, without characters that control a terminal. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each));
  return printable(text ?? 'null');
}

/** A value of a job for people: text without its quotes. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? printable(value) : toJson(value);
}

/** A time for people, in UTC. */
export function timeText(time: Date | undefined): string {
  return time ? time.toISOString() : '';
}
