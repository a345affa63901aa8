import { signal } from '@preact/signals';
import type { ActReply, ActRequest, ApiError } from '../../lib/dashboard/api.js';

export type * from '../../lib/dashboard/api.js';

/** What the server answered instead of data, or that there was no answer. */
export class ApiFailure extends Error {
  constructor(
    /** Of HTTP; 0 without an answer. */
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** What the server said when it knew no user any more: nothing else is shown then. */
export const signedOut = signal<string | undefined>(undefined);

export type Query = Readonly<Record<string, string | undefined>>;

/** Where the page is; the files of its workers are one folder below. */
const BASE = typeof document === 'object' ? document.baseURI : new URL('../', location.href).href;

/** Relative to the page, so that it works under any prefix. */
export function apiUrl(path: string, query: Query = {}): string {
  const url = new URL(`api/${path}`, BASE);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, value);
  return url.href;
}

/** @throws ApiFailure, or an AbortError */
export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return answer<T>(apiUrl(path, query), signal ? { signal } : {});
}

/** @throws ApiFailure */
export function post<T>(path: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  return answer<T>(apiUrl(path), { method: 'POST', headers, body: JSON.stringify(body) });
}

export function act(request: ActRequest): Promise<ActReply> {
  return post<ActReply>('act', request);
}

async function answer<T>(url: string, init: RequestInit): Promise<T> {
  const response = await fetch(url, init).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiFailure(0, 'UNREACHABLE', 'The app does not answer.');
  });
  await refuse(response);
  return (await response.json()) as T;
}

/** An answer that is none of the dashboard comes from the app: it has sent the request to its login page. @throws ApiFailure */
export async function refuse(response: Response): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  if (response.ok && /^(?:application\/json|text\/event-stream)\b/.test(type)) return;
  const { code = 'ERROR', message = response.statusText } = (await response
    .json()
    .catch(() => ({}))) as Partial<ApiError>;
  const isSignedOut = response.ok || response.status === 401;
  if (isSignedOut) signedOut.value = message;
  throw new ApiFailure(isSignedOut ? 401 : response.status, code, message);
}
