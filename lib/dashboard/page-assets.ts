import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { PAGE } from './page.embedded.js';
import { takesGzip } from './request-facts.js';
import { headerOf, type Answer } from './responses.js';

/** A file of the page. */
export interface PageAsset {
  readonly type: string;
  readonly bytes: Buffer;
  /** If that is shorter. */
  readonly zipped?: Buffer;
  /** Whether its name changes with its contents. */
  readonly isHashed: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
};

/** The page's files, decoded once at the start: no request reaches the file system. */
@Injectable()
export class PageAssets {
  private readonly assets = new Map(Object.entries(PAGE).flatMap(toAsset));

  get(name: string): PageAsset | undefined {
    return this.assets.get(name);
  }

  /** Their paths below that of the page. */
  get names(): string[] {
    return [...this.assets.keys()];
  }

  get index(): PageAsset {
    const index = this.get('index.html');
    if (index === undefined) throw new Error('The page of the dashboard has no index.html: build it again.');
    return index;
  }
}

function toAsset([name, text]: [string, string]): [string, PageAsset][] {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (type === undefined) return [];
  const zipped = Buffer.from(text, 'base64');
  const bytes = gunzipSync(zipped);
  const isHashed = /-[\w-]{8,}\.\w+$/.test(name);
  return [[name, { type, bytes, isHashed, ...(zipped.length < bytes.length && { zipped }) }]];
}

/** A file, compressed if the client takes that. */
export function answerOf(asset: PageAsset, request: IncomingMessage, response: object): Answer {
  const { type, bytes, zipped, isHashed } = asset;
  const isZipped = zipped !== undefined && takesGzip(request);
  const body = isZipped ? zipped : bytes;
  const headers = {
    'content-type': type,
    // Not in caches that users share: sessions of the app add cookies.
    ...(isHashed && { 'cache-control': 'private, max-age=31536000, immutable' }),
    ...(zipped && { vary: [headerOf(response, 'vary') ?? [], 'Accept-Encoding'].flat().join(', ') }),
    ...(isZipped && { 'content-encoding': 'gzip' }),
  };
  return { headers, bytes: body };
}
