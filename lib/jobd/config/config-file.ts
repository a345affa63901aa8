import { readFileSync } from 'node:fs';
import { isNativeError } from 'node:util/types';
import { messageOf } from '../../job/errors.js';
import { ConfigError } from '../errors.js';
import { parseIni, type IniFile } from './ini.js';

/** @throws ConfigError */
export function readConfigFile(path: string): IniFile {
  return parseIni(readNamedFile(path).toString('utf8'));
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
