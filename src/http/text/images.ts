/**
 * Prepares the images of a text request before any upstream is called: their URLs are checked, and where the operator
 * configured it (`TEXT_IMAGES=inline`) they are fetched here, so that the upstream fetches nothing.
 */
import type { Caller } from '../../accounts/authenticate.ts';
import { checkImageAddresses } from '../../text/image-addresses.ts';
import type { ImageAddress } from '../../text/image-addresses.ts';
import { inlineImages } from '../../text/inline-images.ts';
import type { InlinedImages } from '../../text/inline-images.ts';
import type { HttpContext } from '../app/context.ts';

const NONE: InlinedImages = new Map();

/**
 * @param until aborted when the images are no longer needed: what is under way ends, and their memory is released.
 * @returns the fetched images, by URL.
 * @throws {InvalidTextRequest} a URL is not permitted, or leads to no image. @throws {ShareExhaustedError}
 */
export async function prepareImages(
  http: HttpContext,
  { caller, until }: { readonly caller: Caller; readonly until: () => AbortSignal },
  images: readonly ImageAddress[],
): Promise<InlinedImages> {
  if (images.length === 0) return NONE;
  const { accountId } = caller;
  const over = until();
  const options = { accountId, signal: AbortSignal.any([over, http.stopSignal]) };
  await checkImageAddresses(images, http, options);
  if (http.config.textImages !== 'inline') return NONE;
  const allowance = http.bodies.ofAccount(caller);
  over.addEventListener('abort', () => allowance.release());
  return inlineImages(images, http, { ...options, hold: (bytes) => allowance.hold(bytes) });
}
