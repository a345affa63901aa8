import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const DEFAULT_SUITE = 'peers';
/** The suite that needs a commit. */
const BEFORE = 'before';
const ROUNDS = 3;
const QUICK_SCALE = 0.15;

/** An invalid command line. */
export class UsageError extends Error {
  code = 'USAGE';
}

/** Parses the command line and adds defaults. @throws UsageError */
export function readOptions(args) {
  const { values, positionals } = parse(args);
  const [suite = DEFAULT_SUITE, ...others] = positionals;
  const commit = suite === BEFORE ? others.shift() : undefined;
  if (others.length > 0) throw new UsageError(`Expected one suite, got ${positionals.join(', ')}.`);
  if (suite === BEFORE && commit === undefined)
    throw new UsageError('Expected the commit to compare with, as in: before HEAD~10');
  const { quick = false, json = false } = values;
  const options = {
    suite,
    commit,
    only: values.only?.split(','),
    quick,
    json,
    rounds: numberOf('rounds', values.rounds ?? `${suite === BEFORE ? 5 : ROUNDS}`, Number.isInteger),
    scale: numberOf('scale', values.scale ?? `${quick ? QUICK_SCALE : 1}`, Number.isFinite),
  };
  return { ...options, svg: values.svg ?? chartOf(options) };
}

function parse(args) {
  const text = { type: 'string' };
  const flag = { type: 'boolean' };
  const options = { quick: flag, json: flag, only: text, svg: text, rounds: text, scale: text };
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error.message, { cause: error });
  }
}

function numberOf(option, value, isValid) {
  const number = Number(value);
  if (isValid(number) && number > 0) return number;
  throw new UsageError(`Expected --${option} to be a number above 0, got ${value}.`);
}

/** A partial run must not replace the chart in the documents. */
function chartOf({ suite, only, scale, rounds }) {
  if (only || scale < 1 || rounds < ROUNDS || suite === BEFORE) return undefined;
  const name = suite === DEFAULT_SUITE ? 'bench' : `bench-${suite}`;
  return fileURLToPath(new URL(`../../docs/figures/${name}.svg`, import.meta.url));
}
