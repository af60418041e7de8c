/**
 * The URLs of images that a text request has an upstream fetch: the egress policy applies to them as to those that we
 * fetch ourselves, or a client could have an upstream in the operator's network read what only that network can reach.
 * A name is resolved too, if possible; the upstream resolves it again, so an owner who changes its DNS answer in
 * between, or gives us another one, is stopped only by the upstream's own network.
 */
import { timeOutMs } from '../config/time-outs.ts';
import type { Egress } from '../egress/guarded-client.ts';
import { checkUrl } from '../egress/policy.ts';
import type { EgressPolicy } from '../egress/policy.ts';
import type { ContentPart, Message } from './request.ts';
import { InvalidTextRequest } from './text-failure.ts';

export interface ImageAddress {
  /** `messages.0.content.1.image_url.url` */
  readonly field: string;
  readonly url: string;
}

/** No URL of a client has it. */
const FILE_SCHEME = 'file:';

/** What stands for a file of the account where an image has a URL. */
export function addressOfFile(fileId: string): string {
  return `${FILE_SCHEME}${fileId}`;
}

/** @returns undefined: it is a URL. */
export function fileIdOf(address: string): string | undefined {
  return address.startsWith(FILE_SCHEME) ? address.slice(FILE_SCHEME.length) : undefined;
}

export interface ImageAddressChecks {
  readonly egressPolicy: EgressPolicy;
  readonly egress: Pick<Egress, 'findObstacle'>;
}

/** The maximum number of different image hosts in one request: each is a name to resolve. */
export const MAX_IMAGE_HOSTS = 16;

/**
 * How long a request waits for the resolution of its image hosts, in milliseconds: longer than one lookup takes,
 * including its wait for a slot.
 */
const RESOLVE_MS = timeOutMs(8_000);

/** Images of a chat request. */
export function imagesOfMessages(messages: readonly Message[]): readonly ImageAddress[] {
  return messages.flatMap(({ content }, messageIndex) =>
    content.flatMap((part: ContentPart, partIndex) =>
      part.type === 'image'
        ? [{ field: `messages.${messageIndex}.content.${partIndex}.image_url.url`, url: part.url }]
        : [],
    ),
  );
}

/** @throws {InvalidTextRequest} naming the first field whose URL is not permitted. */
export async function checkImageAddresses(
  images: readonly ImageAddress[],
  { egressPolicy, egress }: ImageAddressChecks,
  { accountId, signal }: { readonly accountId: string; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const byOrigin = new Map<string, ImageAddress>();
  for (const image of images) {
    if (/^data:/i.test(image.url) || fileIdOf(image.url) !== undefined) continue;
    const checked = checkUrl(image.url, egressPolicy);
    if (!checked.ok) throw invalidImage(image.field, checked.problem);
    const { origin } = checked.url;
    if (!byOrigin.has(origin)) byOrigin.set(origin, image);
    if (byOrigin.size > MAX_IMAGE_HOSTS) throw invalidImage(image.field, `at most ${MAX_IMAGE_HOSTS} hosts of images`);
  }
  const found = await Promise.all(
    [...byOrigin.values()].map(async ({ field, url }) => {
      const obstacle = await egress.findObstacle(url, { accountId, timeoutMs: RESOLVE_MS, signal });
      return obstacle === undefined ? [] : [invalidImage(field, obstacle.problem)];
    }),
  );
  const [first] = found.flat();
  if (first !== undefined) throw first;
}

export function invalidImage(field: string, problem: string): InvalidTextRequest {
  return new InvalidTextRequest(field, `${field}: ${problem}`, 'invalid_image_url');
}
