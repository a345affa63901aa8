/** `promise`, or a rejection with `late()` when it takes more than `timeout` milliseconds. */
export async function withDeadline<T>(promise: Promise<T>, timeout: number, late: () => Error): Promise<T> {
  if (timeout === Infinity) return promise;
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), timeout);
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
