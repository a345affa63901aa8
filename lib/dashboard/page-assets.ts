import { Injectable } from '@nestjs/common';
import { PAGE } from './page.embedded.js';

/** A file of the page. */
export interface PageAsset {
  readonly type: string;
  readonly bytes: Buffer;
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

  get index(): PageAsset {
    const index = this.get('index.html');
    if (index === undefined) throw new Error('The page of the dashboard has no index.html: build it again.');
    return index;
  }
}

function toAsset([name, text]: [string, string]): [string, PageAsset][] {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (type === undefined) return [];
  return [[name, { type, bytes: Buffer.from(text, 'base64'), isHashed: /-[\w-]{8,}\.\w+$/.test(name) }]];
}
