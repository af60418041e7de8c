/**
 * What the server has written into the page (src/http/routes/dashboard.ts).
 */

function metaContent(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
}

export const pageFacts = {
  /** The nonce that style elements must have to be applied. */
  nonce: metaContent('csp-nonce'),
  /** The audience of these pages: an account, or the operator. */
  listener: metaContent('darkroom-listener') === 'admin' ? 'admin' : 'public',
} as const;
