/**
 * The images of a text request: where they are, and what becomes of their URLs. If the upstream fetches them, the
 * egress policy applies to them as to those that we fetch ourselves, or a client could have an upstream in the
 * operator's network read what only that network can reach. With `TEXT_IMAGES=inline` they are fetched here, like any
 * URL of a client, and go to the upstream as `data:` URLs: for operators who do not want their upstreams to fetch URLs
 * that clients name.
 */
import { setMaxListeners } from 'node:events';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import type { MediaInspector } from '@darkroom/media/inspect';
import { timeOutMs } from '../config/time-outs.ts';
import { CollectedBytes } from '@darkroom/media/collected-bytes';
import { EgressError } from '../egress/egress-error.ts';
import type { Egress } from '../egress/guarded-client.ts';
import { checkUrl } from '../egress/policy.ts';
import type { EgressPolicy } from '../egress/policy.ts';
import { ShareExhaustedError, createTenantShares } from '../limits/tenant-shares.ts';
import type { TenantShares } from '../limits/tenant-shares.ts';
import type { ShareMetrics } from '../telemetry/metrics.ts';
import type { ContentPart, Message } from './request.ts';
import type { InputPart, ModelItem, UnnamedInputItem } from './responses/items.ts';
import { InvalidTextRequest } from './text-failure.ts';

/** The maximum number of different image hosts in one request: each is a name to resolve. */
export const MAX_IMAGE_HOSTS = 16;

/**
 * How long a request waits for the resolution of its image hosts, in milliseconds: longer than one lookup takes,
 * including its wait for a slot.
 */
const RESOLVE_MS = timeOutMs(8_000);

/** The maximum number and total size of the images that are inlined for one request. */
export const MAX_INLINED = { images: 50, bytes: 20_000_000 } as const;
/** The time limit for one image in milliseconds, including the resolution of its host name. */
const FETCH_MS = timeOutMs(15_000);
/** How long an image waits for its turn. */
export const IMAGE_WAIT_MS = timeOutMs(10_000);
/** The types that upstreams read. */
export const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

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

/** Images of a response's input. */
export function imagesOfInput(input: readonly UnnamedInputItem[]): readonly ImageAddress[] {
  return input.flatMap((item, index) => {
    const member = item.type === 'message' ? 'content' : 'output';
    const parts = item.type === 'message' ? item.content : item.type === 'function_call_output' ? item.output : [];
    if (typeof parts === 'string') return [];
    return parts.flatMap((part, partIndex) =>
      part.type === 'input_image'
        ? [{ field: `input.${index}.${member}.${partIndex}.image_url`, url: part.image_url }]
        : [],
    );
  });
}

/**
 * Checks URLs that an upstream fetches. A name is resolved too, if possible; the upstream resolves it again, so an
 * owner who changes its DNS answer in between, or gives us another one, is stopped only by the upstream's own network.
 *
 * @throws {InvalidTextRequest} naming the first field whose URL is not permitted.
 */
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

function invalidImage(field: string, problem: string): InvalidTextRequest {
  return new InvalidTextRequest(field, `${field}: ${problem}`, 'invalid_image_url');
}

/** Each URL with its image: `data:image/png;base64,…`. */
export type InlinedImages = ReadonlyMap<string, string>;

interface InlineParts {
  readonly egress: Pick<Egress, 'download'>;
  readonly inspector: Pick<MediaInspector, 'inspectBytes'>;
  readonly imageFetches: TenantShares;
}

interface InlineOptions {
  readonly accountId: string;
  readonly signal: AbortSignal;
  /** Called with bytes before they are buffered. @throws {ShareExhaustedError} */
  readonly hold: (bytes: number) => void;
}

/** The fetches of all accounts in one API process. */
export function createImageFetches(metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'image_fetches',
    capacity: 32,
    perTenant: 8,
    leavesFree: true,
    waiting: { perTenant: 2 * MAX_INLINED.images, perProcess: 500 },
    metrics,
  });
}

/**
 * Fetches the images of a request, each URL once.
 *
 * @throws {InvalidTextRequest} naming the field of an image that could not be fetched, or is not one.
 * @throws {ShareExhaustedError} too many fetches, or bytes in memory, of the account or of all.
 */
export async function inlineImages(
  images: readonly ImageAddress[],
  parts: InlineParts,
  options: InlineOptions,
): Promise<InlinedImages> {
  const byUrl = new Map<string, ImageAddress>();
  for (const image of images) {
    if (/^data:/i.test(image.url) || fileIdOf(image.url) !== undefined || byUrl.has(image.url)) continue;
    byUrl.set(image.url, image);
    if (byUrl.size > MAX_INLINED.images) throw invalidImage(image.field, `at most ${MAX_INLINED.images} images by URL`);
  }
  // The first failure ends the others.
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  // Each fetch adds listeners.
  setMaxListeners(0, signal);
  let total = 0;
  const count = (bytes: number): boolean => {
    total += bytes;
    return total <= MAX_INLINED.bytes;
  };
  const fetches = [...byUrl.values()].map(async (image) => {
    try {
      return [image.url, await fetchOne(image, parts, { ...options, signal, count })] as const;
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  });
  const done = await Promise.allSettled(fetches);
  options.signal.throwIfAborted();
  if (failed.signal.aborted) throw failed.signal.reason;
  return new Map(done.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])));
}

async function fetchOne(
  { field, url }: ImageAddress,
  { egress, inspector, imageFetches }: InlineParts,
  { accountId, signal, hold, count }: InlineOptions & { readonly count: (bytes: number) => boolean },
): Promise<string> {
  const bytes = await imageFetches.run(
    accountId,
    async () => {
      const received = new CollectedBytes();
      try {
        const { body } = await egress.download(url, {
          accountId,
          timeoutMs: FETCH_MS,
          maxBytes: MAX_INLINED.bytes,
          signal,
        });
        for await (const chunk of body as AsyncIterable<Buffer>) {
          if (!count(chunk.length))
            throw invalidImage(field, `the images have more than ${MAX_INLINED.bytes} bytes together`);
          hold(asBase64(chunk.length));
          received.push(chunk);
        }
      } catch (error) {
        throw signal.aborted ? signal.reason : problemOf(field, error);
      }
      return received.take();
    },
    { signal, waitMs: IMAGE_WAIT_MS },
  );
  return `data:${await typeOf(field, bytes, inspector, accountId)};base64,${bytes.toString('base64')}`;
}

/** How many bytes have so many as base64. */
export function asBase64(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

function problemOf(field: string, error: unknown): unknown {
  if (!(error instanceof EgressError)) return error;
  if (error.cause instanceof ShareExhaustedError) return error.cause;
  if (error.kind === 'too_large') return invalidImage(field, `the image has more than ${MAX_INLINED.bytes} bytes`);
  const late = 'the image could not be downloaded from the URL in time';
  return invalidImage(field, error.kind === 'timeout' ? late : 'the image could not be fetched');
}

async function typeOf(
  field: string,
  bytes: Buffer,
  inspector: InlineParts['inspector'],
  accountId: string,
): Promise<string> {
  try {
    const { mimeType } = await inspector.inspectBytes(accountId, bytes);
    if (IMAGE_TYPES.has(mimeType)) return mimeType;
  } catch (error) {
    if (!(error instanceof UnsupportedMediaError)) throw error;
  }
  throw invalidImage(field, 'the URL does not lead to a PNG, JPEG, WebP or GIF image');
}

/** The messages with every fetched image in place of its URL. */
export function withInlinedImages(messages: readonly Message[], inlined: InlinedImages): readonly Message[] {
  if (inlined.size === 0) return messages;
  return messages.map((message) => ({
    ...message,
    content: message.content.map((part) =>
      part.type === 'image' ? { ...part, url: inlined.get(part.url) ?? part.url } : part,
    ),
  }));
}

/** The items with every fetched image in place of its URL. */
export function withInlinedItems<Item extends ModelItem>(
  items: readonly Item[],
  inlined: InlinedImages,
): readonly Item[] {
  if (inlined.size === 0) return items;
  const replaced = (part: InputPart): InputPart =>
    part.type === 'input_image' ? { ...part, image_url: inlined.get(part.image_url) ?? part.image_url } : part;
  return items.map((item) => {
    if (item.type === 'message' && item.role !== 'assistant') return { ...item, content: item.content.map(replaced) };
    if (item.type !== 'function_call_output' || typeof item.output === 'string') return item;
    return { ...item, output: item.output.map(replaced) };
  });
}
