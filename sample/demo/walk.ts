import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DigestInput } from './digest.job.js';

/** A file or folder that was skipped. */
export interface Skipped {
  path: string;
  reason: string;
}

export interface Walk {
  files: DigestInput[];
  skipped: Skipped[];
}

/** An invalid command line. */
export class UsageError extends Error {}

/**
 * Finds up to `limit` regular files below a folder, those near the top first. Symbolic links are not followed, which
 * avoids cycles. Unreadable files are skipped and reported.
 *
 * @throws UsageError if the folder does not exist or has no files
 */
export async function walk(folder: string, limit: number): Promise<Walk> {
  const found: Walk = { files: [], skipped: [] };
  const folders = [await rootOf(folder)];
  for (let path = folders.shift(); path !== undefined; path = folders.shift()) {
    const entries = await entriesOf(path, found.skipped);
    folders.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name)));
    const paths = entries.filter((entry) => entry.isFile()).map(({ name }) => join(path, name));
    const files = await Promise.all(paths.map((file) => measure(file, found.skipped)));
    found.files.push(...files.filter((file) => file !== undefined));
    if (found.files.length >= limit) break;
  }
  if (found.files.length === 0) throw new UsageError(`There is no file in ${folder} that could be digested.`);
  return { ...found, files: found.files.slice(0, limit) };
}

/** Selects `count` files, evenly from the largest to the smallest, in their original order. */
export function sample(files: readonly DigestInput[], count: number): DigestInput[] {
  if (files.length <= count) return [...files];
  const bySize = files.toSorted((one, other) => other.size - one.size);
  const chosen = new Set(
    Array.from({ length: count }, (_, index) => bySize[Math.floor((index * files.length) / count)]),
  );
  return files.filter((file) => chosen.has(file));
}

async function rootOf(folder: string): Promise<string> {
  const info = await stat(folder).catch((error: Error) => {
    throw new UsageError(`Expected a folder, but ${folder} can't be opened: ${error.message}.`);
  });
  if (!info.isDirectory()) throw new UsageError(`Expected a folder, but ${folder} is none.`);
  return realpath(folder);
}

async function entriesOf(path: string, skipped: Skipped[]) {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch (error) {
    skipped.push({ path, reason: (error as Error).message });
    return [];
  }
}

async function measure(path: string, skipped: Skipped[]): Promise<DigestInput | undefined> {
  try {
    return { path, size: (await lstat(path)).size };
  } catch (error) {
    skipped.push({ path, reason: (error as Error).message });
    return undefined;
  }
}
