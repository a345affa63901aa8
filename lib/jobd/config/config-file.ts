import { readFileSync, statSync } from 'node:fs';
import { isNativeError } from 'node:util/types';
import { messageOf } from '../../job/errors.js';
import { ConfigError } from '../vocabulary/errors.js';
import { parseIni, type IniFile } from './ini.js';

/** @throws ConfigError */
export function readConfigFile(path: string): IniFile {
  return parseIni(readNamedFile(path).toString('utf8'));
}

/** Whether others than its user and group may read it. False if unknown. */
export function isReadableByAll(path: string): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0;
}

/** A file that a configuration names. @throws ConfigError */
export function readNamedFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const isMissing = isNativeError(error) && 'code' in error && error.code === 'ENOENT';
    throw new ConfigError(isMissing ? `file ${path} not found` : `can't read ${path}: ${messageOf(error)}`);
  }
}
