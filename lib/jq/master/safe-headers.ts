const ON_ALL = { 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' } as const;

/** In all replies: what a browser shows of them runs nothing, and is in no frame. */
export const SAFE_HEADERS = {
  ...ON_ALL,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

/** For the page at `/docs`, which has scripts of its own, and styles in its HTML. */
export const DOCS_HEADERS = {
  ...ON_ALL,
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
} as const;
