import { InvalidFunctionNameError } from './errors.js';

/** Longest name, in bytes of UTF-8: it is part of a dozen keys. */
export const MAX_FUNCTION_NAME_BYTES = 200;

/** Joins emoji to one, such as those of a family, and is invisible anywhere else. */
const JOINER =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{fe0f}])\u200d(?=\p{Extended_Pictographic})/gu;

const RULES: readonly (readonly [wrong: (name: string) => boolean, reason: string])[] = [
  [(name) => name === '', 'it is empty'],
  [(name) => !name.isWellFormed(), 'it is not well-formed Unicode'],
  [
    (name) => /[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name.replace(JOINER, '')),
    'it has white space or control characters',
  ],
  [
    (name) => /[{}]/.test(name) && !/^[^{}]*\{[^{}]+\}[^{}]*$/.test(name),
    'its braces are not one cluster hash tag like "{resize}"',
  ],
  [
    (name) => Buffer.byteLength(name) > MAX_FUNCTION_NAME_BYTES,
    `it has more than ${MAX_FUNCTION_NAME_BYTES} bytes`,
  ],
];

/** Names that were found valid: every enqueue checks its name, so the result is cached. */
const known = new Set<unknown>();
const MAX_KNOWN = 10_000;

/**
 * Checks and returns a function's name: 1 to 200 bytes of Unicode without white space and control characters.
 * Colons are allowed; braces only as one cluster hash tag.
 *
 * @throws InvalidFunctionNameError
 */
export function checkFunctionName(name: unknown): string {
  if (known.has(name)) return name as string;
  if (typeof name !== 'string') {
    throw new InvalidFunctionNameError(`Expected a function name to be a string, got ${typeof name}.`);
  }
  const problem = nameProblem(name);
  if (problem !== undefined) {
    const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
    throw new InvalidFunctionNameError(
      `${shown} can't be a function name: ${problem}. ` +
        `Use 1 to ${MAX_FUNCTION_NAME_BYTES} bytes without white space, such as "resize" or "mail:send".`,
    );
  }
  if (known.size < MAX_KNOWN) known.add(name);
  return name;
}

/** Why a value can't be a name that is part of a key, such as `it is empty`. */
export function nameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'it is not text';
  return RULES.find(([wrong]) => wrong(name))?.[1];
}
