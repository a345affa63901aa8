import { readFileSync } from 'node:fs';

const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');

/** This package's version. */
export const PACKAGE_VERSION: string = (JSON.parse(text) as { version: string }).version;
