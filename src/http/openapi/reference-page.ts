/**
 * The page at `/docs`: Swagger UI from the installed package, started by our own script. Nothing comes from other
 * hosts and nothing is inline, so that the page works offline and under a strict policy.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { StaticFile } from '../app/static-files.ts';

/** URLs are relative: the page works at any URL that leads here. */
export const PAGE: StaticFile = {
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

/** A file that the page refers to, read once. @returns undefined: the page has no such file. */
export async function pageFile(name: string): Promise<StaticFile | undefined> {
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
