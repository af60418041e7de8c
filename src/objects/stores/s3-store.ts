/**
 * The object store on any S3: one bucket, one prefix. An upload becomes visible when it is complete and never before,
 * which is what `put` promises. The server's errors are translated to ours here.
 *
 * Bodies go through one uploader: a part that fails stops the upload at once, and memory holds a few parts of 5 MiB
 * (measured: 18 MiB). An upload that a killed process left behind is aborted by the first `check` of a later one.
 */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { timeOutMs } from '../../config/time-outs.ts';
import { IncomingBody, assertWithin, measure } from './incoming-body.ts';
import {
  assertByteRange,
  beyondTheEnd,
  assertKeyPrefix,
  assertObjectKey,
  isObjectKey,
  ObjectNotFoundError,
  StoreUnavailableError,
} from './object-store.ts';
import type { ByteRange, DirectRead, ObjectStore, PutResult, StoredObject, StoreOperation } from './object-store.ts';

export interface S3StoreOptions {
  readonly bucket: string;
  /** Key segments joined by `/` under which all objects are stored, or empty. */
  readonly prefix: string;
  /** Base URL of an S3-compatible server; absent for AWS. */
  readonly endpoint?: string | undefined;
  /** Where clients reach that server, for downloads that go straight to it; absent: at `endpoint`. */
  readonly publicEndpoint?: string | undefined;
  readonly region: string;
  /** With `secretAccessKey`; absent: the usual AWS sources. */
  readonly accessKeyId?: string | undefined;
  readonly secretAccessKey?: string | undefined;
  /** Whether the bucket is in the path, not in the host name. Default: where an endpoint is given. */
  readonly forcePathStyle?: boolean | undefined;
}

// A server that does not accept a connection within 5 s, or is silent for 60 s in the middle of a body, is down.
const CONNECTION_TIMEOUT_MS = timeOutMs(5_000);
const SILENCE_TIMEOUT_MS = 60_000;
/** 24 h, as for objects that no record names (architecture, "Archiving really copies"). */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;

type PutOptions = Parameters<ObjectStore['put']>[2];

/** @throws {TypeError} the prefix is not made of key segments, or only half of the credentials is there. */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  if (options.prefix !== '' && !isObjectKey(options.prefix)) {
    throw new TypeError('the prefix must be segments of [A-Za-z0-9._-] joined by /');
  }
  if ((options.accessKeyId === undefined) !== (options.secretAccessKey === undefined)) {
    throw new TypeError('set both or neither of the access key id and the secret access key');
  }
  return new S3Store(options);
}

class S3Store implements ObjectStore {
  readonly #client: S3Client;
  /** Signs URLs, and never connects. */
  readonly #presigner: S3Client;
  readonly #bucket: string;
  readonly #base: string;
  #hasAbortedAbandoned = false;

  constructor(options: S3StoreOptions) {
    const configuration: S3ClientConfig = {
      region: options.region,
      forcePathStyle: options.forcePathStyle ?? options.endpoint !== undefined,
      ...(options.endpoint !== undefined && { endpoint: options.endpoint }),
      ...(options.accessKeyId !== undefined &&
        options.secretAccessKey !== undefined && {
          credentials: { accessKeyId: options.accessKeyId, secretAccessKey: options.secretAccessKey },
        }),
      // Checksum trailers are unknown to many S3-compatible servers; each part is signed with its SHA-256 anyway.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: CONNECTION_TIMEOUT_MS, socketTimeout: SILENCE_TIMEOUT_MS },
    };
    this.#client = new S3Client(configuration);
    this.#presigner =
      options.publicEndpoint === undefined
        ? this.#client
        : new S3Client({ ...configuration, endpoint: options.publicEndpoint });
    this.#bucket = options.bucket;
    this.#base = options.prefix === '' ? '' : `${options.prefix}/`;
  }

  async put(key: string, body: Uint8Array | Readable, options: PutOptions): Promise<PutResult> {
    if (body instanceof Uint8Array) return await this.#putBytes(key, body, options);
    const incoming = new IncomingBody(body, options);
    try {
      assertObjectKey(key);
      // No abort controller: it would return before the parts are cleaned up. An abort ends the body, and the upload
      // with it, on the path that cleans up and then returns.
      const upload = new Upload({
        client: this.#client,
        params: {
          ...this.#target(key),
          ContentType: options.mimeType,
          Body: Readable.from(incoming.chunks(), { highWaterMark: 1 }),
        },
        queueSize: 1,
      });
      await upload.done();
      return incoming.result();
    } catch (error) {
      throw incoming.failure ?? translate('put', key, error);
    } finally {
      incoming.release();
    }
  }

  async #putBytes(key: string, bytes: Uint8Array, options: PutOptions): Promise<PutResult> {
    assertObjectKey(key);
    assertWithin(bytes.byteLength, options.maxBytes);
    options.signal?.throwIfAborted();
    try {
      const command = new PutObjectCommand({ ...this.#target(key), ContentType: options.mimeType, Body: bytes });
      await this.#client.send(command, options.signal ? { abortSignal: options.signal } : {});
      return measure(bytes);
    } catch (error) {
      options.signal?.throwIfAborted();
      throw translate('put', key, error);
    }
  }

  async head(key: string): Promise<StoredObject> {
    assertObjectKey(key);
    try {
      const answer = await this.#client.send(new HeadObjectCommand(this.#target(key)));
      return { key, sizeBytes: answer.ContentLength ?? 0 };
    } catch (error) {
      throw translate('head', key, error);
    }
  }

  async read(key: string, range?: ByteRange): Promise<Readable> {
    assertObjectKey(key);
    if (range) assertByteRange(range);
    try {
      const part = range && { Range: `bytes=${range.start}-${range.end}` };
      const answer = await this.#client.send(new GetObjectCommand({ ...this.#target(key), ...part }));
      if (!(answer.Body instanceof Readable)) throw new Error('the server sent no body');
      return answer.Body;
    } catch (error) {
      if (range && isStatus(error, 416)) throw beyondTheEnd(range);
      throw translate('read', key, error);
    }
  }

  async presign(key: string, { method, seconds, mimeType, disposition }: DirectRead): Promise<string> {
    assertObjectKey(key);
    const target = { ...this.#target(key), ResponseContentType: mimeType, ResponseContentDisposition: disposition };
    const command = method === 'HEAD' ? new HeadObjectCommand(target) : new GetObjectCommand(target);
    return getSignedUrl(this.#presigner, command, { expiresIn: seconds });
  }

  async delete(key: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    assertObjectKey(key);
    signal?.throwIfAborted();
    try {
      await this.#client.send(new DeleteObjectCommand(this.#target(key)), signal ? { abortSignal: signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      const translated = translate('delete', key, error);
      if (!(translated instanceof ObjectNotFoundError)) throw translated;
    }
  }

  async *list(prefix: string): AsyncGenerator<StoredObject & { readonly modifiedAt: Date }> {
    assertKeyPrefix(prefix);
    try {
      const pages = paginateListObjectsV2(
        { client: this.#client },
        { Bucket: this.#bucket, Prefix: this.#base + prefix },
      );
      for await (const page of pages) {
        for (const found of page.Contents ?? []) {
          const key = (found.Key ?? '').slice(this.#base.length);
          if (!isObjectKey(key) || !found.LastModified) continue; // Not one of ours: a directory marker, a check.
          yield { key, sizeBytes: found.Size ?? 0, modifiedAt: found.LastModified };
        }
      }
    } catch (error) {
      throw translate('list', prefix, error);
    }
  }

  async check(): Promise<void> {
    const written = randomUUID();
    // `~` is outside the alphabet of keys: no caller reaches it and no listing shows it.
    const target = { Bucket: this.#bucket, Key: `${this.#base}~check-${written}` };
    let writtenAt: Date | undefined;
    try {
      await this.#client.send(new PutObjectCommand({ ...target, Body: written }));
      const answer = await this.#client.send(new GetObjectCommand(target));
      writtenAt = answer.LastModified;
      const text = await answer.Body?.transformToString();
      await this.#client.send(new DeleteObjectCommand(target));
      if (text !== written) throw new Error('the server read back different bytes than were written');
    } catch (error) {
      throw new StoreUnavailableError('check', { cause: error });
    }
    // By the server's own clock, which says when an upload began.
    await this.#abortAbandonedOnce(writtenAt);
  }

  async close(): Promise<void> {
    this.#client.destroy();
    this.#presigner.destroy();
  }

  #target(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#base + key };
  }

  async #abortAbandonedOnce(now: Date | undefined): Promise<void> {
    if (this.#hasAbortedAbandoned || now === undefined) return;
    this.#hasAbortedAbandoned = true;
    try {
      const bucket = { Bucket: this.#bucket };
      const answer = await this.#client.send(new ListMultipartUploadsCommand({ ...bucket, Prefix: this.#base }));
      for (const { Key, UploadId, Initiated } of answer.Uploads ?? []) {
        if (!Initiated || now.getTime() - Initiated.getTime() < ABANDONED_AFTER_MS) continue;
        await this.#client.send(new AbortMultipartUploadCommand({ ...bucket, Key, UploadId }));
      }
    } catch {
      // Housekeeping that some servers and many key policies do not allow; the store works without it.
    }
  }
}

function isStatus(error: unknown, status: number): error is S3ServiceException {
  return error instanceof S3ServiceException && error.$metadata.httpStatusCode === status;
}

/** A 404 is a missing object unless it says that the bucket is missing; errors of ours pass through. */
function translate(operation: StoreOperation, key: string, error: unknown): unknown {
  if (error instanceof TypeError || error instanceof ObjectNotFoundError) return error;
  const isMissing = isStatus(error, 404) && error.name !== 'NoSuchBucket';
  const isReading = operation === 'head' || operation === 'read' || operation === 'delete';
  if (isMissing && isReading) return new ObjectNotFoundError(key, { cause: error });
  return new StoreUnavailableError(operation, { cause: error });
}
