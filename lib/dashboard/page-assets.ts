import { Injectable } from '@nestjs/common';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

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
/** Beside this file in the package; in the repository the tests run from the sources. */
const PLACES = ['./page/', '../../dist/dashboard/page/'];
const NOT_BUILT = Buffer.from(
  '<!doctype html><title>Jobs</title><p>The page is not built: run npm run build.\n',
);

/** The page's files, read once at the start: no request reaches the file system. */
@Injectable()
export class PageAssets {
  private readonly assets = read();

  get(name: string): PageAsset | undefined {
    return this.assets.get(name);
  }

  get index(): PageAsset {
    return this.assets.get('index.html') ?? { type: TYPES['html'] ?? '', bytes: NOT_BUILT, isHashed: false };
  }
}

function read(): Map<string, PageAsset> {
  const place = PLACES.map((each) => fileURLToPath(new URL(each, import.meta.url))).find((each) =>
    existsSync(each),
  );
  if (place === undefined) return new Map();
  const names = readdirSync(place, { recursive: true }).map((name) => String(name).replaceAll('\\', '/'));
  return new Map(
    names.flatMap((name): [string, PageAsset][] => {
      const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
      if (type === undefined) return [];
      const isHashed = /-[\w-]{8,}\.\w+$/.test(name);
      return [[name, { type, bytes: readFileSync(place + name), isHashed }]];
    }),
  );
}
