/** The corner of a table is no header: one without text is announced as nothing. */
import type { MarkdownRenderer } from 'vitepress';

export function emptyHeaders(markdown: MarkdownRenderer): void {
  markdown.core.ruler.after('inline', 'empty_headers', ({ tokens }) => {
    tokens.forEach((token, index) => {
      const [text, close] = tokens.slice(index + 1, index + 3);
      if (token.type !== 'th_open' || text?.content !== '' || close === undefined) return;
      token.tag = 'td';
      close.tag = 'td';
    });
  });
}
