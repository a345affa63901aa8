import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { InvalidOptionError } from '../job/errors.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import type { DeclaringApp } from '../gearmonkey/features/schedules/spec.js';

/** Which app declares schedules. */
export interface AppOptions {
  /** Processes with different parts of an app's code need different names. */
  name: string;
  version: string;
  /**
   * Replaces the schedules of a higher version, and of other apps with the same ids: for going back to an earlier version, or
   * after the app was renamed.
   *
   * @default false
   */
  takeOver?: boolean;
}

const KNOWN = optionNames<Required<AppOptions>>({ name: true, version: true, takeOver: true });

/** @throws ConfigurationError, InvalidOptionError */
export function checkApp(app: AppOptions | undefined): void {
  if (app === undefined) return;
  const { name, version, takeOver = false } = checkOptions('`app` of GearMonkeyModule', app, KNOWN);
  for (const [option, value] of Object.entries({ name, version }))
    if (typeof value !== 'string' || !/^\S{1,200}$/.test(value))
      throw new InvalidOptionError(`app.${option}`, value, 'text without white space');
  if (typeof takeOver !== 'boolean') throw new InvalidOptionError('app.takeOver', takeOver, 'true or false');
}

/** The app of the nearest package.json with a name and a version, from the program's folder upward. */
export function appOfPackage(program = process.argv[1] ?? ''): DeclaringApp | undefined {
  for (let folder = dirname(program); ; folder = dirname(folder)) {
    const found = read(join(folder, 'package.json'));
    if (found) return found;
    if (folder === dirname(folder)) return undefined;
  }
}

function read(path: string): DeclaringApp | undefined {
  try {
    const { name, version } = JSON.parse(readFileSync(path, 'utf8')) as Partial<DeclaringApp>;
    return typeof name === 'string' && typeof version === 'string' && name && version
      ? { name, version }
      : undefined;
  } catch {
    return undefined;
  }
}
