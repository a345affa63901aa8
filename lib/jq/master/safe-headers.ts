/** For replies that a browser doesn't display: MessagePack, and those without a body. */
export const NOT_SNIFFED = { 'x-content-type-options': 'nosniff' } as const;

const ON_ALL = { ...NOT_SNIFFED, 'x-frame-options': 'DENY' } as const;

/** For replies that a browser can display: nothing in them runs, and no frame shows them. */
export const SAFE_HEADERS = {
  ...ON_ALL,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

/** For the page at `/docs`, which has its own scripts, and styles in its HTML. */
export const DOCS_HEADERS = {
  ...ON_ALL,
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
} as const;
