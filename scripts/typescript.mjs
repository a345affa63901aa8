/**
 * Runs TypeScript from its sources: `node --import ./scripts/typescript.mjs FILE`. With `--enable-source-maps`, errors
 * name lines of the sources.
 */
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
