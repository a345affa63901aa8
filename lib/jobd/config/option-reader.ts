import { MAX_TIMER_MS } from '../../job/duration.js';
import { ConfigError } from '../vocabulary/errors.js';
import { LOG_LEVELS, type LogLevel } from '../vocabulary/logging.js';
import type { IniFile, IniSection, IniValue } from './ini.js';

/** Reads options by name and type. Errors name the option, never its value, which may be a secret. */
export class OptionReader {
  private readonly asked = new Set<string>();

  constructor(private readonly values: IniSection) {}

  /** Marks options as known that another option may override. */
  accept(...names: readonly string[]): void {
    for (const name of names) this.asked.add(name);
  }

  string(name: string): string | undefined {
    const value = this.value(name);
    return value === undefined ? undefined : String(value);
  }

  /** @throws ConfigError where it is missing or empty */
  requiredString(name: string): string {
    return this.string(name) || this.missing(name);
  }

  /** A password. An empty one is refused, since it would mean no password. @throws ConfigError */
  secret(name: string): string | undefined {
    this.accept(name);
    const value = this.values.get(name);
    if (value === undefined || (typeof value === 'string' && value !== '')) return value;
    throw new ConfigError(
      `'${name}' is there but empty: give it a value, in quotes where it has ; or #, or remove it`,
    );
  }

  integer(
    name: string,
    range: readonly [least: number, most: number] = [0, MAX_TIMER_MS],
  ): number | undefined {
    const text = this.string(name);
    if (text === undefined) return undefined;
    if (!/^[+-]?\d+$/.test(text)) throw new ConfigError(`'${name}' must be an integer`);
    return this.inRange(name, Number(text), range);
  }

  /** A port; 0 for any free one. */
  port(name: string): number | undefined {
    return this.integer(name, [0, 65_535]);
  }

  requiredPort(name: string): number {
    return this.port(name) ?? this.missing(name);
  }

  /** A number, also with a fraction; `range` as for `integer`. */
  number(
    name: string,
    range: readonly [least: number, most: number] = [0, MAX_TIMER_MS],
  ): number | undefined {
    const text = this.string(name);
    if (text === undefined) return undefined;
    if (!/^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(text)) throw new ConfigError(`'${name}' must be a number`);
    return this.inRange(name, Number(text), range);
  }

  /** A time in seconds, in milliseconds; `range` is in seconds. */
  milliseconds(name: string, range: readonly [least: number, most: number]): number | undefined {
    const seconds = this.number(name, range);
    return seconds === undefined ? undefined : Math.round(seconds * 1000);
  }

  /** Only `1` and `true` are true. */
  boolean(name: string): boolean {
    const value = this.value(name);
    return value === true || value === 'true' || value === '1';
  }

  level(name: string): LogLevel | undefined {
    return this.oneOf(name, LOG_LEVELS);
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const text = this.string(name);
    const choice = choices.find((candidate) => candidate === text);
    if (text !== undefined && !choice)
      throw new ConfigError(`'${name}' must be one of ${choices.join(', ')}`);
    return choice;
  }

  /** The options `prefix` begins, by the rest of their names. */
  beginningWith(prefix: string): Record<string, string> {
    const names = [...this.values.keys()].filter((name) => name.startsWith(prefix));
    return Object.fromEntries(names.map((name) => [name.slice(prefix.length), this.string(name) ?? '']));
  }

  /** Options that were not read: most likely misspelt. */
  unknown(): string[] {
    return [...this.values.keys()].filter((name) => !this.asked.has(name)).map(withoutValue);
  }

  missing(name: string): never {
    throw new ConfigError(`'${name}' is not defined`);
  }

  private value(name: string): Exclude<IniValue, null> | undefined {
    this.accept(name);
    return this.values.get(name) ?? undefined;
  }

  private inRange(name: string, value: number, [least, most]: readonly [number, number]): number {
    if (value >= least && value <= most) return value;
    throw new ConfigError(`'${name}' must be between ${least} and ${most}`);
  }
}

/** All options of unknown sections. */
export function unknownSections({ sections }: IniFile, known: readonly string[]): string[] {
  return [...sections]
    .filter(([section]) => !known.includes(section))
    .flatMap(([section, options]) =>
      [...options.keys()].map((name) => `${withoutValue(name)} in [${section}]`),
    );
}

/** A line that is not `name = value` may hold a secret. */
function withoutValue(name: string): string {
  return name.replace(/[\s:=].*$/s, '');
}
