/**
 * From a URL that this service signed back to the object that it opens, so that one task can use what another made
 * (contract §7 "Uploads"), and the string by which a stored input refers to such an object.
 */
import type { UrlSigner } from './signed-url.ts';

/** `darkroom:out_…`, `darkroom:file_…` or `darkroom:file-…`, and nothing else: no caller can send it (tasks/record/input-media.ts). */
const REFERENCE = /^darkroom:((?:out_|file[_-])[0-9A-HJKMNP-TV-Z]{26})$/;

const INPUT_PREFIX = 'input-';

/** What a stored input contains instead of a URL, which would expire. */
export function referenceTo(objectId: string): string {
  return `darkroom:${objectId}`;
}

/** The id of the output or upload that a string refers to; undefined if it is no reference. */
export function referencedId(text: string): string | undefined {
  return REFERENCE.exec(text)?.[1];
}

/**
 * Reads a URL of ours.
 *
 * @returns the id of the output or upload that it opens; undefined where it is not below `{public URL}/media/`.
 * @throws {InvalidUrlError} it is below that, and we did not sign it.
 * @throws {ExpiredUrlError} it has expired.
 */
export function ownObjectId(url: string, signer: UrlSigner): string | undefined {
  // The URL parser drops tabs and line breaks and turns backslashes: what it made of them is not what was sent.
  if (/[\s\\\p{Cc}]/u.test(url) || !URL.canParse(url)) return undefined;
  const base = new URL(`${signer.publicUrl}/media/`).href;
  const { href } = new URL(url);
  if (!href.startsWith(base)) return undefined;
  const [token = ''] = href.slice(base.length).split(/[/?#]/, 1);
  return signer.verify(token).outputId;
}

/**
 * What a URL is signed for by which a provider fetches an input: it opens the object as long as a task needs it, even
 * where its owner has deleted it since. Only providers get such a URL.
 */
export function signedInputId(objectId: string): string {
  return `${INPUT_PREFIX}${objectId}`;
}

/** The object that such a URL opens; undefined where it is another kind of URL. */
export function inputObjectId(signedId: string): string | undefined {
  return signedId.startsWith(INPUT_PREFIX) ? signedId.slice(INPUT_PREFIX.length) : undefined;
}
