import type { NestExpressApplication } from '@nestjs/platform-express';
import type { ServerResponse } from 'node:http';
import type { OpenAPIObject } from '@nestjs/swagger';
import { doWithout } from '../../../package/optional-package.js';
import { DOCS_HEADERS } from '../safe-headers.js';
import { openApiDocument } from './document.js';

const PATH = 'docs';

/** A page that shows the document and tries its routes. @throws ConfigurationError */
export async function serveDocs(app: NestExpressApplication, wanted: boolean | undefined): Promise<void> {
  const swagger = await loadSwagger(wanted);
  // The two packages declare the same type separately.
  const document = openApiDocument() as unknown as OpenAPIObject;
  if (!swagger) return;
  app.use(`/${PATH}`, (_: unknown, response: ServerResponse, next: () => void) => {
    for (const [name, value] of Object.entries(DOCS_HEADERS)) response.setHeader(name, value);
    next();
  });
  swagger.SwaggerModule.setup(PATH, app, document, { raw: false, customSiteTitle: 'JQ master' });
}

async function loadSwagger(wanted: boolean | undefined) {
  if (wanted === false) return undefined;
  try {
    return await import('@nestjs/swagger');
  } catch (error) {
    return doWithout('@nestjs/swagger', error, wanted);
  }
}
