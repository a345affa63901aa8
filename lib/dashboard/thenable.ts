/** Whether a function of an app in plain JavaScript, that has to answer at once, has returned a promise or the like. */
export function isThenable(answer: unknown): answer is PromiseLike<unknown> {
  return (
    typeof answer === 'object' && answer !== null && 'then' in answer && typeof answer.then === 'function'
  );
}

/** That it rejects must not end the process. */
export function ignore(answer: PromiseLike<unknown>): void {
  Promise.resolve(answer).catch(() => undefined);
}
