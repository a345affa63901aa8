import type { INestApplication } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { optionalPackage } from '../optional-package.js';
import { openApiDocument } from './document.js';

const PATH = 'docs';

/** A page that shows the document and tries its routes. @throws ConfigurationError */
export async function serveDocs(app: INestApplication, wanted: boolean | undefined): Promise<void> {
  const swagger = await optionalPackage('@nestjs/swagger', () => import('@nestjs/swagger'), wanted);
  // Types of the same form, written by two hands.
  const document = openApiDocument() as unknown as OpenAPIObject;
  swagger?.SwaggerModule.setup(PATH, app, document, { raw: false, customSiteTitle: 'JQ master' });
}
