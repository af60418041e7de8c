/**
 * Links between documents are written for the repository, where a path of a file is an address. On the site, a page
 * has an address of its own, and a file that is no page is named instead of linked: where the repository is published
 * is not known here. A link to a page that does not exist fails the build.
 */
import path from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { REPOSITORY, resolveLink } from './documents.ts';

type Parse = MarkdownRenderer['parse'];
type Token = ReturnType<Parse>[number];

const OTHER_ORIGIN = /^(?:[a-z][a-z\d+.-]*:|\/\/)/i;

/** @param base the address of the site. */
export function repositoryLinks(markdown: MarkdownRenderer, base: string): void {
  markdown.core.ruler.after('inline', 'repository_links', (state) => {
    // While pages are made, `path` is that of the page; while they are indexed, there is no other.
    const env = state.env as { readonly path: string; readonly realPath?: string };
    const from = path
      .relative(REPOSITORY, env.realPath ?? env.path)
      .split(path.sep)
      .join('/');
    for (const token of state.tokens) {
      if (token.type !== 'inline' || token.children === null) continue;
      token.children = resolveLinks(from, token.children, { base, TokenClass: state.Token });
    }
  });
}

type TokenClass = new (type: string, tag: string, nesting: -1 | 0 | 1) => Token;

function resolveLinks(
  from: string,
  tokens: readonly Token[],
  { base, TokenClass }: { base: string; TokenClass: TokenClass },
): Token[] {
  const resolved: Token[] = [];
  /** The file that the link around the current token names. */
  let named: string | undefined;
  for (const token of tokens) {
    const attribute = { link_open: 'href', image: 'src' }[token.type];
    const address = attribute === undefined ? null : token.attrGet(attribute);
    if (attribute !== undefined && address !== null && !address.startsWith('#') && !OTHER_ORIGIN.test(address)) {
      const [href = '', fragment] = address.split('#', 2);
      const target = resolveLink(from, decodeURI(href));
      if (target.kind === 'nothing') throw new Error(`${from}: there is no ${href}`);
      if (target.kind === 'file' && token.type === 'image') throw new Error(`${from}: ${href} is not in the guide`);
      if (target.kind === 'file') {
        named = target.file;
        continue;
      }
      // The generator adds the base to links by itself, and to nothing else.
      const prefix = token.type === 'image' ? base.slice(0, -1) : '';
      token.attrSet(attribute, prefix + target.address + (fragment === undefined ? '' : `#${fragment}`));
    }
    if (token.type === 'link_close' && named !== undefined) {
      const text = resolved.at(-1)?.content ?? '';
      if (!named.endsWith(text)) resolved.push(...nameFile(named, TokenClass));
      named = undefined;
      continue;
    }
    resolved.push(token);
  }
  return resolved;
}

/** ` (path/of/the/file)` */
function nameFile(file: string, TokenClass: TokenClass): Token[] {
  const parts = [
    ['text', '', ' ('],
    ['code_inline', 'code', file],
    ['text', '', ')'],
  ] as const;
  return parts.map(([type, tag, content]) => Object.assign(new TokenClass(type, tag, 0), { content }));
}
