/** `scheme://user:password@`, without characters that a URL can't have. */
const USERINFO = /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#]*@/gi;
/** The same of a password that was not encoded: a number behind the colon and a slash are a port and a path. */
const RAW_USERINFO = /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@[:]*:(?!\d{1,5}[/?#])\S{1,256}@/gi;
/** Values of a query whose names say what they are. */
const PARAMETER =
  /([?&][\w.-]{0,40}(?:password|passwd|pwd|secret|token|signature|api_?key)[\w.-]{0,40}=)[^\s&#"']+/gi;
/** A user and password that were cut off before their `@`. */
const UNFINISHED = /([a-z][a-z0-9+.-]{0,20}:\/\/)(?:[^\s/?#]*|[^\s/?#@[:]*:(?!\d{1,5}[/?#])\S*)$/i;

const HIDDEN = '***';

/** Text in which the credentials of URLs are hidden: of users and passwords, and of query parameters named for them. */
export function withoutSecrets(text: string): string {
  if (!text.includes('://')) return text;
  return text
    .replace(USERINFO, `$1${HIDDEN}@`)
    .replace(RAW_USERINFO, `$1${HIDDEN}@`)
    .replace(PARAMETER, `$1${HIDDEN}`);
}

/** Looked at beyond what is kept, so that a URL at the end is seen whole. */
const MARGIN = 1024;

/** Looks behind the last space only: a search everywhere would take quadratic time. */
function withoutUnfinished(text: string): string {
  const begin = Math.max(...[' ', '\n', '\t', '\r'].map((space) => text.lastIndexOf(space))) + 1;
  return text.slice(0, begin) + text.slice(begin).replace(UNFINISHED, '$1');
}

/** At most `limit` characters of a text and an ellipsis, well-formed and without secrets. */
export function excerpt(text: string, limit: number): string {
  const window = text.length > limit + MARGIN ? withoutUnfinished(text.slice(0, limit + MARGIN)) : text;
  const safe = withoutSecrets(window).toWellFormed();
  if (safe.length <= limit) return window === text ? safe : `${safe}…`;
  return `${safe.slice(0, limit).toWellFormed()}…`;
}
