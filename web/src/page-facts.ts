/**
 * What the server wrote into the page (src/http/routes/dashboard.ts).
 */

function metaContent(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
}

export const pageFacts = {
  /** What style elements have to carry to count. */
  nonce: metaContent('csp-nonce'),
  /** Whose pages these are: an account's, or the operator's. */
  listener: metaContent('darkroom-listener') === 'admin' ? 'admin' : 'public',
} as const;
