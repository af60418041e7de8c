/**
 * How the guide is built: the documents of the repository as static pages in `dist/guide`, with a search that runs in
 * the browser. Nothing comes from other hosts, and nothing is inline.
 */
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { defineConfig } from 'vitepress';
import { accessibleSearch } from '../src/accessible-search.ts';
import { PAGES, REPOSITORY, SCREENSHOTS, excludedFiles } from '../src/documents.ts';
import { emptyHeaders } from '../src/empty-headers.ts';
import { repositoryLinks } from '../src/repository-links.ts';
import { sidebar } from '../src/sidebar.ts';
import { strictPolicy } from '../src/strict-policy.ts';

/** Where the api serves it (src/http/routes/guide.ts). */
const BASE = '/guide/';

const policy = strictPolicy(BASE);

export default defineConfig({
  base: BASE,
  title: 'Darkroom',
  titleTemplate: ':title · Darkroom',
  description: 'Guides, operations, reference and decisions of Darkroom.',
  srcDir: REPOSITORY,
  srcExclude: excludedFiles(),
  rewrites: PAGES,
  outDir: path.join(REPOSITORY, 'dist/guide'),
  cacheDir: path.join(REPOSITORY, '.cache/guide'),
  cleanUrls: true,
  // To switch it off for a moment, the generator would write a style into the page.
  appearance: { disableTransition: false },
  markdown: {
    // The documents are read in the repository first: what its viewer does not know is text here too.
    html: false,
    linkify: false,
    attrs: false,
    emoji: false,
    container: false,
    anchor: { slugify: slugOf },
    codeTransformers: [policy.colours],
    config(markdown) {
      repositoryLinks(markdown, BASE);
      emptyHeaders(markdown);
    },
  },
  vite: {
    // Settings of an installation are in the `.env` of this directory.
    envDir: false,
    publicDir: false,
    plugins: [accessibleSearch()],
    build: { assetsInlineLimit: 0, reportCompressedSize: false, chunkSizeWarningLimit: 2_000 },
  },
  vue: { template: { transformAssetUrls: false } },
  themeConfig: {
    search: { provider: 'local' },
    sidebar: sidebar(),
    outline: 'deep',
    externalLinkIcon: true,
  },
  transformHtml: (page) => policy.transformPage(page),
  async buildEnd(site) {
    await policy.writeFiles(site);
    await cp(path.join(REPOSITORY, SCREENSHOTS), path.join(site.outDir, path.basename(SCREENSHOTS)), {
      recursive: true,
    });
  },
});

/** The fragment of a heading, as GitHub makes it: links in the documents were written for that. */
function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
}
