/**
 * Prepares the images of a text request before any upstream is called: their URLs are checked, and where the operator
 * configured it (`TEXT_IMAGES=inline`) they are fetched here, so that the upstream fetches nothing.
 */
import type { ServerResponse } from 'node:http';
import type { Caller } from '../../accounts/authenticate.ts';
import { checkImageAddresses } from '../../text/image-addresses.ts';
import type { ImageAddress } from '../../text/image-addresses.ts';
import { inlineImages } from '../../text/inline-images.ts';
import type { InlinedImages } from '../../text/inline-images.ts';
import type { HttpContext } from '../app/context.ts';

const NONE: InlinedImages = new Map();

/**
 * @param answer the response; when it ends, the memory of the images is released.
 * @returns the fetched images, by URL.
 * @throws {InvalidTextRequest} a URL is not permitted, or leads to no image. @throws {ShareExhaustedError}
 */
export async function prepareImages(
  http: HttpContext,
  { caller, ctx }: { readonly caller: Caller; readonly ctx: { readonly res: ServerResponse } },
  images: readonly ImageAddress[],
): Promise<InlinedImages> {
  if (images.length === 0) return NONE;
  const { accountId } = caller;
  const gone = new AbortController();
  ctx.res.once('close', () => gone.abort());
  if (ctx.res.closed) gone.abort();
  const options = { accountId, signal: AbortSignal.any([gone.signal, http.stopSignal]) };
  await checkImageAddresses(images, http, options);
  if (http.config.textImages !== 'inline') return NONE;
  const allowance = http.bodies.ofAccount(caller);
  gone.signal.addEventListener('abort', () => allowance.release());
  return inlineImages(images, http, { ...options, hold: (bytes) => allowance.hold(bytes) });
}
