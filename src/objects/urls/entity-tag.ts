/**
 * Conditions on entity tags (RFC 9110 §13.1): one comparison, for bytes and for JSON alike.
 */

/** Whether a condition's entity tags contain ours. `weak` ignores a `W/`, `strong` rejects it (RFC 9110 §8.8.3.2). */
export function listsTag(header: string, etag: string, comparison: 'weak' | 'strong'): boolean {
  const tags = header.split(',').map((tag) => tag.trim());
  return tags.some((tag) => tag === '*' || tag === etag || (comparison === 'weak' && tag === `W/${etag}`));
}
