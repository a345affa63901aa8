import { describe, expect, it } from '@jest/globals';
import { readOptions, UsageError } from '../../bench/harness/options.mjs';

describe('the options of the benchmark', () => {
  it.each([
    ['an option there is not', ['--quik'], /--quik/],
    ['two suites', ['peers', 'other'], /one suite, got peers, other/],
    ['a comparison with no commit', ['before'], /commit to compare with/],
    ['two commits', ['before', 'one', 'other'], /one suite, got before, one, other/],
    ['no rounds', ['--rounds', '0'], /--rounds to be a number above 0, got 0/],
    ['half a round', ['--rounds', '1.5'], /--rounds to be a number above 0, got 1.5/],
    ['a size that is no number', ['--scale', 'big'], /--scale to be a number above 0, got big/],
  ])('refuse %s', (_, args, message) => {
    const read = () => readOptions(args);
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });

  it('default to three full rounds of the peers and a chart in the documents', () => {
    const { svg, ...options } = readOptions([]);
    expect(options).toEqual({
      suite: 'peers',
      only: undefined,
      quick: false,
      json: false,
      rounds: 3,
      scale: 1,
    });
    expect(svg).toMatch(/docs.figures.bench\.svg$/);
  });

  it('compare with a commit in five rounds, without a chart', () => {
    expect(readOptions(['before', 'HEAD~10'])).toMatchObject({
      suite: 'before',
      commit: 'HEAD~10',
      rounds: 5,
      svg: undefined,
    });
  });

  it('give another suite its own chart', () => {
    expect(readOptions(['qless']).svg).toMatch(/docs.figures.bench-qless\.svg$/);
  });

  it.each([[['--quick']], [['--only', 'cost']], [['--scale', '0.5']], [['--rounds', '2']]])(
    'do not change the chart of the documents in a partial run: %j',
    (args) => {
      expect(readOptions(args).svg).toBeUndefined();
      expect(readOptions([...args, '--svg', 'mine.svg']).svg).toBe('mine.svg');
    },
  );
});
