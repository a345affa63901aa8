import { Session } from 'node:inspector';

/** What is alive once everything else has been collected: counts and no bytes, the same again after the same work. */
export type HeapCount = Readonly<Record<string, number>>;

/** An id that is kept is not an object but an entry of one. */
const COUNT = `function () {
  const count = { objects: this.length, 'entries of maps': 0, 'entries of sets': 0, 'items of arrays': 0 };
  for (const each of this) {
    // The prototype of a class that extends Map is one by its class, and has no size.
    try {
      if (each instanceof Map) count['entries of maps'] += each.size;
      else if (each instanceof Set) count['entries of sets'] += each.size;
      else if (Array.isArray(each)) count['items of arrays'] += each.length;
    } catch {}
  }
  return count;
}`;

/** Of this process. It collects garbage first. */
export function countHeap(): HeapCount {
  const session = new Session();
  session.connect();
  try {
    const { result: prototype } = post<{ result: { objectId: string } }>(session, 'Runtime.evaluate', {
      expression: 'Object.prototype',
    });
    const { objects } = post<{ objects: { objectId: string } }>(session, 'Runtime.queryObjects', {
      prototypeObjectId: prototype.objectId,
    });
    const { result } = post<{ result: { value: HeapCount } }>(session, 'Runtime.callFunctionOn', {
      objectId: objects.objectId,
      functionDeclaration: COUNT,
      returnByValue: true,
    });
    return result.value;
  } finally {
    session.disconnect();
  }
}

/** A session of one's own thread answers at once. */
function post<T>(session: Session, method: string, params: object): T {
  let answer: { error: Error | null; result?: object } | undefined;
  session.post(method, params, (error, result) => (answer = { error, result }));
  if (!answer?.result) throw new Error(`${method} gave nothing`, { cause: answer?.error });
  return answer.result as T;
}
