/**
 * The description of a suite: the default export of `bench/suites/NAME/suite.mjs`. The folder has everything that belongs
 * to the suite; the harness makes rounds, medians, ratios, table, JSON and chart.
 *
 * Measured processes load these modules too, with plain Node: import a contender's packages only when a measurement
 * opens it, and TypeScript only in `start`, or with `fromSources`.
 *
 * @typedef {object} Suite
 * @property {string} title
 * @property {Contender[]} contenders ours first: ratios are ours divided by the other's
 * @property {'median' | 'min'} [compared] which figure of several rounds stands for all
 * @property {(options: { commit?: string }) => Promise<Stage>} start starts what all rounds share, such as servers; see `startRedis` in redis-stage.mjs
 * @property {boolean} [fromSources] whether it measures what dist/ has only inside of bundles: rounds can import lib/
 * @property {Measurement[]} measurements in the order they are run and printed
 * @property {Panel[]} panels of the chart
 *
 * @typedef {object} Contender
 * @property {string} key
 * @property {string} title
 * @property {string} version
 * @property {string} options its setup, for the reader of the report
 *
 * @typedef {object} Stage
 * @property {Record<string, string>} addresses given to every round
 * @property {[label: string, text: string][]} facts printed above the figures: versions, persistence …
 * @property {() => Promise<void>} stop
 *
 * @typedef {object} Measurement
 * @property {string} name for `--only`
 * @property {string} title
 * @property {boolean} [quick] part of `--quick`
 * @property {string[]} [contenders] keys of the contenders that support it; all by default
 * @property {Row[]} rows
 * @property {(round: Round) => Promise<Record<string, number | null>>} run one round of one contender, in a process
 *   of its own: a figure for the key of each row, null if it can't be measured on this system
 *
 * @typedef {object} Row
 * @property {string} key unique in the suite
 * @property {string} title
 * @property {string} unit
 * @property {'more' | 'less'} better
 * @property {Record<string, number>} [targets] by contender: the lowest allowed ratio, or the highest if less is better
 * @property {number} [target] the same for the figure of this package
 *
 * @typedef {object} Round
 * @property {string} contender
 * @property {Record<string, string>} addresses
 * @property {(full: number, least?: number) => number} jobs the number of jobs of this run if a full run has `full`
 *
 * @typedef {object} Panel
 * @property {string} title
 * @property {[key: string, label: string][]} rows
 */
import { existsSync, readdirSync } from 'node:fs';
import { UsageError } from './options.mjs';

/** Node's arguments for a process that imports lib/, which is compiled when it is loaded. */
export const FROM_SOURCES = ['--import', new URL('../../scripts/typescript.mjs', import.meta.url).href];

const suites = new URL('../suites/', import.meta.url);

/** @returns {Promise<Suite & { name: string }>} @throws UsageError */
export async function loadSuite(name) {
  const known = readdirSync(suites).filter((folder) => existsSync(new URL(`${folder}/suite.mjs`, suites)));
  if (!known.includes(name)) throw new UsageError(`Expected a suite of ${known.join(', ')}; got ${name}.`);
  const { default: suite } = await import(new URL(`${name}/suite.mjs`, suites).href);
  return { ...suite, name };
}

/** The selected measurements. @throws UsageError */
export function select({ measurements }, { only, quick }) {
  const names = measurements.map(({ name }) => name);
  const unknown = only?.filter((name) => !names.includes(name)) ?? [];
  if (unknown.length > 0) {
    throw new UsageError(`Expected --only to be of ${names.join(', ')}; got ${unknown.join(', ')}.`);
  }
  if (only) return measurements.filter(({ name }) => only.includes(name));
  return quick ? measurements.filter((measurement) => measurement.quick) : measurements;
}
