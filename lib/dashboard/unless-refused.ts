import { RefusedError } from '../job/server-errors.js';
import { answerTo } from './answers.js';

/**
 * What was asked of one function, or something in its place if the server refuses that: the app has no right to its keys, or
 * one is of another type. It concerns that function alone: the others are shown.
 *
 * @param instead gets the server's reason, for those who may view the function
 */
export async function unlessRefused<T, U>(asked: Promise<T>, instead: (why: string) => U): Promise<T | U> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof RefusedError) return instead(answerTo(error)[1].message);
    throw error;
  }
}
