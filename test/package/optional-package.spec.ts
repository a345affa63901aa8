import { describe, expect, it } from '@jest/globals';
import { MissingPackageError, doWithout, withPackages } from '../../lib/package/optional-package.js';

const NAME = 'a-package-that-is-not-there';
const load = () => import(NAME) as Promise<unknown>;
const broken = new TypeError('broken');

async function failure(): Promise<unknown> {
  return load().catch((error: unknown) => error);
}

describe('doWithout', () => {
  it('says how to install a required package that is missing', async () => {
    const error = await failure();
    expect(() => doWithout(NAME, error, true)).toThrow(`npm install ${NAME}`);
  });

  it('returns undefined for a missing package that is not required', async () => {
    expect(doWithout(NAME, await failure())).toBeUndefined();
  });

  it('does not hide other errors', async () => {
    expect(() => doWithout(NAME, broken)).toThrow(broken);
    const error = await failure();
    expect(() => doWithout('one-that-needs-it', error)).toThrow(MissingPackageError);
  });
});

describe('withPackages', () => {
  it('says what needs the packages, why they could not be loaded, and how to install them', async () => {
    const loading = withPackages('A master', `${NAME} another`, load);
    await expect(loading).rejects.toThrow(MissingPackageError);
    await expect(loading).rejects.toThrow(
      /^A master could not be loaded: Cannot find .*Run: npm install .* another$/s,
    );
  });

  it('rethrows other errors', async () => {
    await expect(withPackages('A master', NAME, () => Promise.reject(broken))).rejects.toBe(broken);
  });
});
