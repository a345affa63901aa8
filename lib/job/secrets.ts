/** `scheme://user:password@`, of characters that are valid in a URL. */
const USERINFO = /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#]*@/gi;
/** The same with a password that was not URL-encoded. A colon followed by a number and a slash is a port and a path. */
const RAW_USERINFO = /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@[:]*:(?!\d{1,5}[/?#])\S{1,256}@/gi;
/** Query parameters whose names say that they are secret. */
const PARAMETER =
  /([?&][\w.-]{0,40}(?:password|passwd|pwd|secret|token|signature|api_?key)[\w.-]{0,40}=)[^\s&#"']+/gi;
/** A user and password that were cut off before the `@`. */
const UNFINISHED = /([a-z][a-z0-9+.-]{0,20}:\/\/)(?:[^\s/?#]*|[^\s/?#@[:]*:(?!\d{1,5}[/?#])\S*)$/i;

const HIDDEN = '***';

/** Hides credentials of URLs in a text: user and password, and query parameters with secret-sounding names. */
export function withoutSecrets(text: string): string {
  if (!text.includes('://')) return text;
  return text
    .replace(USERINFO, `$1${HIDDEN}@`)
    .replace(RAW_USERINFO, `$1${HIDDEN}@`)
    .replace(PARAMETER, `$1${HIDDEN}`);
}

/** How many more characters are searched than kept, so that a URL at the end is seen whole. */
const MARGIN = 1024;

/** Searches only after the last space: a search of the whole text would take quadratic time. */
function withoutUnfinished(text: string): string {
  const begin = Math.max(...[' ', '\n', '\t', '\r'].map((space) => text.lastIndexOf(space))) + 1;
  return text.slice(0, begin) + text.slice(begin).replace(UNFINISHED, '$1');
}

/** The first `limit` characters of a text, with an ellipsis if it was longer; well-formed and without secrets. */
export function excerpt(text: string, limit: number): string {
  const window = text.length > limit + MARGIN ? withoutUnfinished(text.slice(0, limit + MARGIN)) : text;
  const safe = withoutSecrets(window).toWellFormed();
  if (safe.length <= limit) return window === text ? safe : `${safe}…`;
  return `${safe.slice(0, limit).toWellFormed()}…`;
}
