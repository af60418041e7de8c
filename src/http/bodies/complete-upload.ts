/**
 * Completes an upload that was sent in parts (contract §7.5), whose parts become one file. What can be wrong with it is
 * found before anything is written: its hash is computed from the parts as they lie, its type from a source of their
 * bytes.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ByteSource } from '@darkroom/media/byte-source';
import type { CompleteUploadBody } from '@darkroom/api/openai/uploads';
import { RateLimitedError } from '../../limits/rate-limiter.ts';
import {
  completeMultipartUpload,
  leaseCompletion,
  readMultipartUpload,
  readParts,
  recordPartsHash,
  releaseCompletion,
  renewCompletion,
} from '../../objects/multipart-uploads.ts';
import type { MultipartUpload, Part, PartsHash } from '../../objects/multipart-uploads.ts';
import { purposedId } from '../../objects/openai-files.ts';
import type { ObjectStore } from '../../objects/stores/object-store.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidValue } from '../app/errors.ts';
import { factsForPurpose } from './store-file.ts';
import { discardObject, storing } from './store-upload.ts';

/** How often a completion renews its lease, which is a third of what it lasts. */
const RENEW_MS = 20_000;
/** How often, and how long, a request waits for another one that completes the same upload. */
const [LOOK_MS, WAIT_MS] = [250, 60_000];
const RETRY_SECONDS = 5;
/** In how many orders the parts of one upload are hashed: each reads all of them. */
const MAX_HASHINGS = 10;

/**
 * Completes an upload, or waits while another request does: together they join its parts once.
 *
 * @throws {RateLimitedError} the other one takes longer than a request may wait.
 */
export async function completeUpload(
  http: HttpContext,
  upload: MultipartUpload,
  body: CompleteUploadBody,
): Promise<void> {
  const { id, accountId } = upload;
  const isPending = async (): Promise<boolean> =>
    (await readMultipartUpload(http.database, accountId, id, http.now())).status === 'pending';
  const parts = await requireParts(http, upload, body.part_ids).catch(async (error: unknown) => {
    // The request that has completed it has deleted its parts.
    if (await isPending()) throw error;
    return undefined;
  });
  if (parts === undefined) return;
  const database = http.accountDatabase(accountId);
  const waitsUntil = performance.now() + WAIT_MS;
  for (;;) {
    const hash = await leaseCompletion(database, upload, http.now());
    if (hash !== undefined) {
      const renewing = setInterval(() => {
        renewCompletion(database, id, http.now()).catch((error: unknown) => {
          http.logger.warn(
            { err: error },
            'renewing the completion of an upload failed; another request may take over',
          );
        });
      }, RENEW_MS);
      try {
        await complete(http, upload, { parts, hash, md5: body.md5?.toLowerCase() });
        return;
      } finally {
        clearInterval(renewing);
        // At the latest the lease ends.
        await releaseCompletion(database, id).catch(() => undefined);
      }
    }
    if (!(await isPending())) return;
    if (performance.now() > waitsUntil) throw new RateLimitedError(RETRY_SECONDS);
    await sleep(LOOK_MS);
  }
}

/** Everything is checked before the first byte is written. */
async function complete(
  http: HttpContext,
  upload: MultipartUpload,
  { parts, hash, md5 }: { readonly parts: readonly Part[]; readonly hash: PartsHash; readonly md5: string | undefined },
): Promise<void> {
  const { accountId, purpose, fileName } = upload;
  if (md5 !== undefined) await requireHash(http, upload, { parts, hash, md5 });
  const facts = await factsForPurpose(http, accountId, purpose, partsSource(http.store, parts));
  const dropped = await storing(http, async (begin) => {
    const joined = await begin(joinParts(http.store, parts), { maxBytes: sizeOfParts(parts) });
    const file = { ...joined, ...facts, id: purposedId(joined.id), accountId, purpose, fileName };
    const isRecorded = await completeMultipartUpload(http.accountDatabase(accountId), upload, file, http.now());
    return isRecorded ? undefined : joined;
  });
  // Another request has ended the upload meanwhile.
  if (dropped !== undefined) await discardObject(http, dropped.objectKey);
}

/** @throws {RequestError} 400: the parts have another hash, or were hashed in too many orders already. */
async function requireHash(
  http: HttpContext,
  { id, accountId }: MultipartUpload,
  { parts, hash, md5 }: { readonly parts: readonly Part[]; readonly hash: PartsHash; readonly md5: string },
): Promise<void> {
  const print = partsPrint(parts);
  let joined = hash.partsPrint === print ? hash.md5 : null;
  if (joined === null) {
    if (hash.hashings >= MAX_HASHINGS) {
      throw invalidValue('part_ids', `the parts were checked in ${MAX_HASHINGS} orders; create another upload`);
    }
    joined = await md5OfParts(http.store, parts);
    await recordPartsHash(http.accountDatabase(accountId), id, { partsPrint: print, md5: joined });
  }
  if (md5 !== joined) throw invalidValue('md5', `the parts have ${joined}`);
}

/** @throws {RequestError} 400: one is not a part of the upload, or together they have another size. */
async function requireParts(
  http: HttpContext,
  upload: MultipartUpload,
  partIds: readonly string[],
): Promise<readonly Part[]> {
  const parts: Part[] = [];
  for (const [index, part] of (await readParts(http.database, upload, partIds)).entries()) {
    if (part === undefined) throw invalidValue(`part_ids.${index}`, 'the upload has no such part');
    parts.push(part);
  }
  const sum = sizeOfParts(parts);
  if (sum !== upload.sizeBytes) {
    throw invalidValue('part_ids', `the parts have ${sum} bytes, and the upload has ${upload.sizeBytes}`);
  }
  return parts;
}

/** The bytes of the parts, one after another. */
async function* bytesOf(store: ObjectStore, parts: readonly Part[]): AsyncGenerator<Buffer> {
  for (const { objectKey } of parts) {
    // Both stores read bytes.
    for await (const chunk of await store.read(objectKey)) yield chunk as Buffer;
  }
}

/** A stream of the parts as one file. */
function joinParts(store: ObjectStore, parts: readonly Part[]): Readable {
  return Readable.from(bytesOf(store, parts), { objectMode: false });
}

/** @returns lower-case hex. */
async function md5OfParts(store: ObjectStore, parts: readonly Part[]): Promise<string> {
  const md5 = createHash('md5');
  for await (const chunk of bytesOf(store, parts)) md5.update(chunk);
  return md5.digest('hex');
}

/** Identifies which parts were hashed, and in which order. */
function partsPrint(parts: readonly Part[]): string {
  return createHash('sha256')
    .update(parts.map(({ id }) => id).join())
    .digest('hex');
}

/** The parts as a source of bytes that can be read anywhere. */
function partsSource(store: ObjectStore, parts: readonly Part[]): ByteSource {
  return {
    sizeBytes: sizeOfParts(parts),
    async read(start, end) {
      const chunks: Buffer[] = [];
      let offset = 0;
      for (const { objectKey, sizeBytes } of parts) {
        const [first, beyond] = [Math.max(start - offset, 0), Math.min(end - offset, sizeBytes)];
        offset += sizeBytes;
        if (first >= beyond) continue;
        const range = { start: first, end: beyond - 1 };
        for await (const chunk of await store.read(objectKey, range)) chunks.push(chunk as Buffer);
      }
      return Buffer.concat(chunks);
    },
  };
}

/** In bytes. */
function sizeOfParts(parts: readonly Part[]): number {
  return parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
