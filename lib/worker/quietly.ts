/** For calls that may not be awaited: an unhandled rejection would end the process. */
export function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
