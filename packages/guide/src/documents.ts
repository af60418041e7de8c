/**
 * Which files of the repository are pages of the guide, and at which addresses: everything in `docs/`, and the few
 * documents outside it that docs/README.md links to.
 */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The list of all documents: the first page, and what the sidebar is made from. */
export const INDEX = 'docs/README.md';

export const REPOSITORY = findRepository();

/** The sources are deeper in it when they are compiled for their tests. */
function findRepository(): string {
  let directory = path.dirname(fileURLToPath(import.meta.url));
  while (!existsSync(path.join(directory, INDEX))) {
    const parent = path.dirname(directory);
    if (parent === directory) throw new Error(`There is no ${INDEX} above the guide.`);
    directory = parent;
  }
  return directory;
}

/** The images that documents show and link to; they keep their names on the site. */
export const SCREENSHOTS = 'docs/screenshots';

const DOCS = 'docs/';
const OUTSIDE_DOCS: Readonly<Record<string, string>> = {
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
  'packages/cli/README.md': 'command-line.md',
};

/** By their paths in the repository, the paths of the pages on the site, both with `.md`. */
export const PAGES: Readonly<Record<string, string>> = Object.fromEntries([
  [INDEX, 'index.md'],
  ...readdirSync(path.join(REPOSITORY, DOCS), { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => file.endsWith('.md') && DOCS + file !== INDEX)
    .map((file) => [DOCS + file, file]),
  ...Object.entries(OUTSIDE_DOCS),
]);

/**
 * What is not searched for pages. The generator looks for Markdown below the root of the repository, where there are
 * also packages, build results and the data of installations.
 */
export function excludedFiles(): string[] {
  const sources = Object.keys(PAGES);
  return [...listOthers(''), ...listOthers('packages/'), ...listOthers('packages/cli/')];

  function listOthers(directory: string): string[] {
    return readdirSync(path.join(REPOSITORY, directory), { withFileTypes: true })
      .filter(({ name }) => !sources.some((file) => `${file}/`.startsWith(`${directory}${name}/`)))
      .map((entry) => `${directory}${entry.name}${entry.isDirectory() ? '/**' : ''}`);
  }
}

/** Where a link of a document leads. */
export type Target =
  | { readonly kind: 'page' | 'screenshot'; readonly address: string }
  /** In the repository, and not on the site. */
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'nothing' };

/** @param from the document, by its path in the repository. @param href relative to it, without a fragment. */
export function resolveLink(from: string, href: string): Target {
  const file = path.posix.join(path.posix.dirname(from), href);
  const page = Object.hasOwn(PAGES, file) ? PAGES[file] : undefined;
  if (page !== undefined) return { kind: 'page', address: `/${page.replace(/(?:index)?\.md$/, '')}` };
  // What is outside docs/ need not be there: an image is built from a part of the repository.
  const isMissing = file.startsWith(DOCS) && !existsSync(path.join(REPOSITORY, file));
  if (isMissing || href.startsWith('/')) return { kind: 'nothing' };
  if (file.startsWith(`${SCREENSHOTS}/`)) return { kind: 'screenshot', address: file.replace(DOCS, '/') };
  return { kind: 'file', file };
}
