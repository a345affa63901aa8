import { describe, expect, it } from '@jest/globals';
import { MissingPackageError, optionalPackage, withPackages } from '../../lib/package/optional-package.js';

const NAME = 'a-package-that-is-not-there';
const load = () => import(NAME) as Promise<unknown>;

describe('optionalPackage', () => {
  it('says how to install a required package that is missing', async () => {
    await expect(optionalPackage(NAME, load, true)).rejects.toThrow(`npm install ${NAME}`);
  });

  it('returns undefined for a missing package that is not required', async () => {
    await expect(optionalPackage(NAME, load, undefined)).resolves.toBeUndefined();
  });

  it('does not load a package that is not wanted', async () => {
    const never = () => Promise.reject(new Error('loaded'));
    await expect(optionalPackage(NAME, never, false)).resolves.toBeUndefined();
  });

  it('does not hide other errors', async () => {
    const broken = () => Promise.reject(new Error('broken'));
    await expect(optionalPackage(NAME, broken, undefined)).rejects.toThrow('broken');
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
    const broken = new TypeError('broken');
    await expect(withPackages('A master', NAME, () => Promise.reject(broken))).rejects.toBe(broken);
  });
});
