/**
 * `/openapi.json`: the reference for programs, generated from the routes and the live catalogue. `/docs`: the same
 * for people. `/admin/openapi.json`: that of the admin listener.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Type } from 'typebox';
import { isMediaModel } from '../../catalogue/text-definition.ts';
import type { CatalogueModel } from '../../catalogue/text-definition.ts';
import type { HttpContext } from '../app/context.ts';
import { notFound } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { CACHE_AN_HOUR, CACHE_REVALIDATED, answerFile } from '../app/static-files.ts';
import type { StaticFile } from '../app/static-files.ts';
import { protectPage } from '../middleware/response-headers.ts';
import { openApiDocument } from '../openapi/document.ts';
import type { OpenApiNode } from '../openapi/parts.ts';
import { ADMIN_DESCRIPTION, API_DESCRIPTION } from '../openapi/text.ts';

const DocumentSchema = Type.Unsafe<OpenApiNode>({ type: 'object', description: 'The OpenAPI 3.1 document.' });

/**
 * The page at `/docs`: Swagger UI from the installed package, started by our own script. Nothing comes from other hosts
 * and nothing is inline, so that the page works offline and under a strict policy. URLs are relative: the page works at
 * any URL that leads here.
 */
const PAGE: StaticFile = {
  type: 'text/html; charset=utf-8',
  content: Buffer.from(`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Darkroom API reference</title>
    <link rel="icon" type="image/png" href="docs/favicon-32x32.png">
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <link rel="stylesheet" href="docs/index.css">
  </head>
  <body>
    <div id="reference"></div>
    <noscript>The reference needs JavaScript; <a href="openapi.json">openapi.json</a> holds the same.</noscript>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script type="module" src="docs/start.js"></script>
  </body>
</html>
`),
};

/** Requests of "Try it out" go to the origin of the page, whatever base URL the service announces. */
const START_SCRIPT = `const reference = await (await fetch('openapi.json')).json();
reference.servers = [{ url: new URL('.', window.location.href).href.replace(/\\/$/, '') }];
SwaggerUIBundle({
  spec: reference,
  dom_id: '#reference',
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  filter: true,
  validatorUrl: null,
});
`;

/** Files of the package that the page uses. */
const PACKAGE_FILES: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'index.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

const read = new Map<string, Promise<StaticFile>>();

/** @param others every other route of the listener. */
export function referenceRoutes(http: HttpContext, others: readonly Route[]): readonly Route[] {
  let cached: { readonly models: readonly CatalogueModel[]; readonly document: OpenApiNode } | undefined;

  /** Generated on the first request, and again when the catalogue has changed or a model has retired since. */
  function currentDocument(): OpenApiNode {
    const models = http.catalogue.available();
    if (cached === undefined || !isSameList(cached.models, models)) {
      const serverUrl = http.urlSigner.publicUrl;
      const routes = [...others, ...own];
      const document = openApiDocument({
        title: 'Darkroom',
        description: API_DESCRIPTION,
        serverUrl,
        routes,
        models: models.filter(isMediaModel),
      });
      cached = { models, document };
    }
    return cached.document;
  }

  const own: readonly Route[] = [
    defineRoute({
      method: 'GET',
      path: '/openapi.json',
      operationId: 'getOpenApi',
      tag: 'Service',
      summary: 'Get this reference as an OpenAPI 3.1 document',
      access: 'none',
      response: { kind: 'json', schema: DocumentSchema },
      async handle({ ctx }) {
        ctx.set('Cache-Control', 'public, no-cache');
        // Public in itself: tools that run in a browser may read it.
        ctx.set('Access-Control-Allow-Origin', '*');
        return currentDocument();
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/docs',
      operationId: 'getReference',
      tag: 'Service',
      summary: 'Get this reference as a page',
      access: 'none',
      response: { kind: 'other', mimeTypes: ['text/html'], description: 'The page.' },
      otherResponses: { 304: { description: 'Not modified: your copy (`If-None-Match`) is current.' } },
      async handle({ ctx }) {
        protectPage(ctx);
        answerFile(ctx, PAGE, CACHE_REVALIDATED);
        return undefined;
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/docs/{fileName}',
      operationId: 'getReferenceFile',
      tag: 'Service',
      summary: 'Get a file of the reference page',
      access: 'none',
      params: { fileName: 'The file name, as referenced by the page.' },
      response: {
        kind: 'other',
        mimeTypes: ['text/javascript', 'text/css', 'image/png'],
        description: 'The file.',
      },
      otherResponses: { 304: { description: 'Not modified: your copy (`If-None-Match`) is current.' } },
      errors: ['NOT_FOUND'],
      async handle({ ctx, params }) {
        const file = await pageFile(params['fileName'] ?? '');
        if (file === undefined) throw notFound();
        answerFile(ctx, file, CACHE_AN_HOUR);
        return undefined;
      },
    }),
  ];
  return own;
}

/** @param others every other route of the admin listener. */
export function adminReferenceRoutes(others: readonly Route[]): readonly Route[] {
  let document: OpenApiNode | undefined;
  const own: readonly Route[] = [
    defineRoute({
      method: 'GET',
      path: '/admin/openapi.json',
      operationId: 'adminGetOpenApi',
      tag: 'Administration',
      summary: 'Get this reference as an OpenAPI 3.1 document',
      access: 'operator',
      response: { kind: 'json', schema: DocumentSchema },
      async handle() {
        document ??= openApiDocument({
          title: 'Darkroom administration',
          description: ADMIN_DESCRIPTION,
          // The origin of the document: how operators reach this listener is not configured.
          serverUrl: '/',
          routes: [...others, ...own],
          models: [],
        });
        return document;
      },
    }),
  ];
  return own;
}

/** A definition that is read again is the same object, unless its content differs. */
function isSameList(one: readonly CatalogueModel[], other: readonly CatalogueModel[]): boolean {
  return one.length === other.length && one.every((definition, index) => definition === other[index]);
}

/** A file that the page refers to, read once. @returns undefined: the page has no such file. */
async function pageFile(name: string): Promise<StaticFile | undefined> {
  if (name === 'start.js') return { type: 'text/javascript; charset=utf-8', content: Buffer.from(START_SCRIPT) };
  const type = Object.hasOwn(PACKAGE_FILES, name) ? PACKAGE_FILES[name] : undefined;
  if (type === undefined) return undefined;
  let file = read.get(name);
  if (file === undefined) {
    file = readFile(path.join(packageDirectory(), name)).then((content) => ({ type, content }));
    read.set(name, file);
  }
  return file;
}

/** The package is located only when the page is opened. */
function packageDirectory(): string {
  const require = createRequire(import.meta.url);
  return path.dirname(require.resolve('swagger-ui-dist/package.json'));
}
