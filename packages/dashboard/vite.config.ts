/**
 * How the dashboard is built: into `dist/dashboard`, with a hash in every name, and each text compressed beforehand so that the
 * api spends nothing on it.
 */
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import type { Plugin } from 'vite';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const COMPRESSED = /\.(?:js|css|svg|json|txt)$/;

/** `npx vite packages/dashboard` shows changes as they are made, beside the api that this names. */
const API = process.env['DARKROOM_URL'] ?? 'http://127.0.0.1:8787';
const toApi = Object.fromEntries(
  ['/v1', '/session', '/media', '/docs', '/openapi.json', '/admin'].map((prefix) => [
    prefix,
    // The api takes the session of its own pages only.
    { target: API, headers: { Origin: API } },
  ]),
);

export default defineConfig({
  root: HERE,
  plugins: [react(), compress(), listenerInDevelopment()],
  build: {
    outDir: path.join(HERE, '../../dist/dashboard'),
    emptyOutDir: true,
    target: 'es2022',
    // Everything is a file: a strict policy lets nothing inline run, and images are cached separately.
    assetsInlineLimit: 0,
    // The polyfill would be an inline script.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
  },
  server: { host: '127.0.0.1', proxy: toApi },
  clearScreen: false,
  logLevel: 'warn',
});

/** Beside an api nothing fills in the listener: `DARKROOM_LISTENER=admin` shows the operator's. */
function listenerInDevelopment(): Plugin {
  return {
    name: 'listener-in-development',
    apply: 'serve',
    transformIndexHtml: (page) => page.replaceAll('{{listener}}', process.env['DARKROOM_LISTENER'] ?? 'public'),
  };
}

/** Writes `.br` and `.gz` beside each file that is worth it. */
function compress(): Plugin {
  return {
    name: 'compress',
    apply: 'build',
    async writeBundle({ dir = '' }) {
      const names = await readdir(dir, { recursive: true });
      for (const name of names.filter((each) => COMPRESSED.test(each))) {
        const file = path.join(dir, name);
        const content = await readFile(file);
        const [brotli, gzipped] = await Promise.all([
          promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
          promisify(gzip)(content, { level: 9 }),
        ]);
        if (brotli.length < content.length) await writeFile(`${file}.br`, brotli);
        if (gzipped.length < content.length) await writeFile(`${file}.gz`, gzipped);
      }
    },
  };
}
