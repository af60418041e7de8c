/**
 * Moves what the generator writes into pages to files: the scripts that choose light or dark before a page shows, and
 * the colours of code. The api forbids inline scripts and styles.
 */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { transformerStyleToClass } from '@shikijs/transformers';
import type { SiteConfig } from 'vitepress';

const INLINE_SCRIPT = /<script id="[\w-]+">([^<]*)<\/script>\s*/g;
/** In the components of the generator: one is repeated in theme/guide.css, the other set again by its script. */
const INLINE_STYLE = / style="(?:position:relative|--vp-vh:0px);"/g;
const END_OF_HEAD = '</head>';

export interface StrictPolicy {
  /** For the highlighter: classes in place of `style` attributes. */
  readonly colours: ReturnType<typeof transformerStyleToClass>;
  /** Replaces what is inline in a page. All pages were highlighted before the first is written. */
  transformPage(page: string): string;
  writeFiles(site: SiteConfig): Promise<void>;
}

/** @param base the address of the site. */
export function strictPolicy(base: string): StrictPolicy {
  const colours = transformerStyleToClass({ classPrefix: 'code-' });
  const files = new Map<string, string>();

  /** @returns the address of a file with this content. */
  function addFile(name: string, suffix: string, content: string): string {
    const hash = createHash('sha256').update(content).digest('base64url').slice(0, 8);
    const file = `assets/${name}.${hash}.${suffix}`;
    files.set(file, content);
    return base + file;
  }

  return {
    colours,
    transformPage(page) {
      const scripts = [...page.matchAll(INLINE_SCRIPT)].map(([, script = '']) => script.trim());
      // Not deferred: the page would show in light first, and then in dark.
      const script = addFile('appearance', 'js', `${scripts.join('\n')}\n`);
      const style = addFile('code', 'css', `${colours.getCSS()}\n`);
      return page
        .replaceAll(INLINE_SCRIPT, '')
        .replaceAll(INLINE_STYLE, '')
        .replace(
          END_OF_HEAD,
          `<script src="${script}"></script>\n    <link rel="stylesheet" href="${style}">\n  ${END_OF_HEAD}`,
        );
    },
    async writeFiles({ outDir }) {
      for (const [file, content] of files) {
        await mkdir(path.dirname(path.join(outDir, file)), { recursive: true });
        await writeFile(path.join(outDir, file), content);
      }
    },
  };
}
