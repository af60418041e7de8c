/**
 * How the dashboard is built: into `dist/dashboard`, with a hash in every name.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import type { Plugin } from 'vite';

const HERE = path.dirname(fileURLToPath(import.meta.url));

/** `npx vite packages/dashboard` shows changes as they are made, beside the api that this names. */
const API = new URL(process.env['DARKROOM_BASE_URL'] ?? 'http://127.0.0.1:8787/v1').origin;
const toApi = Object.fromEntries(
  ['/v1', '/session', '/media', '/docs', '/guide', '/openapi.json', '/admin'].map((prefix) => [
    prefix,
    // The api takes the session of its own pages only.
    { target: API, headers: { Origin: API } },
  ]),
);

export default defineConfig({
  root: HERE,
  plugins: [react(), listenerInDevelopment()],
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
