import { describe, expect, it } from '@jest/globals';
import { MissingPackageError, optionalPackage, withPackages } from '../../lib/package/optional-package.js';

const NAME = 'a-package-that-is-not-there';
const load = () => import(NAME) as Promise<unknown>;

describe('optionalPackage', () => {
  it('says how to install what is wanted and missing', async () => {
    await expect(optionalPackage(NAME, load, true)).rejects.toThrow(`npm install ${NAME}`);
  });

  it('does without what is missing and not asked for', async () => {
    await expect(optionalPackage(NAME, load, undefined)).resolves.toBeUndefined();
  });

  it('loads nothing that is not wanted', async () => {
    const never = () => Promise.reject(new Error('loaded'));
    await expect(optionalPackage(NAME, never, false)).resolves.toBeUndefined();
  });

  it('does not hide what else is wrong', async () => {
    const broken = () => Promise.reject(new Error('broken'));
    await expect(optionalPackage(NAME, broken, undefined)).rejects.toThrow('broken');
  });
});

describe('withPackages', () => {
  it('says what needs the packages, why there is none of it, and how to install them', async () => {
    const loading = withPackages('A master', `${NAME} another`, load);
    await expect(loading).rejects.toThrow(MissingPackageError);
    await expect(loading).rejects.toThrow(
      /^A master could not be loaded: Cannot find .*Run: npm install .* another$/s,
    );
  });

  it('lets pass what else is wrong', async () => {
    const broken = new TypeError('broken');
    await expect(withPackages('A master', NAME, () => Promise.reject(broken))).rejects.toBe(broken);
  });
});
