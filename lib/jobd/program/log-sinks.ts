import { closeSync, openSync, writeSync } from 'node:fs';
import { messageOf } from '../../job/errors.js';
import type { LogConfig } from '../config/server-config.js';
import { ConfigError } from '../vocabulary/errors.js';
import type { LogLevel, LogSink } from '../vocabulary/logging.js';

/** Writes to stdout and to a file, which stays open as long as the program runs. @throws ConfigError if the file can't be written */
export function openSinks({ file, fileLevel, consoleLevel }: LogConfig): LogSink[] {
  const console: LogSink = { level: consoleLevel, write: (line) => process.stdout.write(line) };
  return file ? [console, fileSink(file, fileLevel)] : [console];
}

function openFile(path: string): number {
  try {
    return openSync(path, 'a', 0o640);
  } catch (error) {
    throw new ConfigError(`'log_file' can't be written: ${messageOf(error)}`);
  }
}

/**
 * Each line is written at once, so that the last lines before a crash are in the file. A full disk does not end the daemon. On
 * SIGHUP the file is reopened, since it may have been rotated.
 */
function fileSink(path: string, level: LogLevel): LogSink {
  let descriptor = openFile(path);
  let failed = false;
  const attempt = (action: () => void) => {
    try {
      action();
      failed = false;
    } catch (error) {
      if (!failed) process.stderr.write(`The log file can't be written: ${messageOf(error)}\n`);
      failed = true;
    }
  };
  process.on('SIGHUP', () =>
    attempt(() => {
      const old = descriptor;
      descriptor = openFile(path);
      closeSync(old);
    }),
  );
  return { level, write: (line) => attempt(() => writeSync(descriptor, line)) };
}
