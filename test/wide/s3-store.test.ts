/** The S3 store on a real S3 server. Skipped, with the reason, if there is neither the server nor Go to build it. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, utimes } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { openStore } from '../../src/objects/stores/open-store.ts';
import { createS3Store } from '../../src/objects/stores/s3-store.ts';
import { ObjectNotFoundError, StoreUnavailableError } from '../../src/objects/stores/object-store.ts';
import { describeObjectStore } from '../objects/object-store-contract.ts';
import { startS3Server, whyNoS3Server } from '../support/versitygw.ts';
import type { S3Server } from '../support/versitygw.ts';

const BUCKET = 'outputs';
const PNG = { mimeType: 'image/png' };

const reason = whyNoS3Server();
if (reason !== false) {
  describe('the S3 store', { skip: reason }, () => {
    it('runs the contract of object stores on a real S3 server');
  });
} else {
  let server: S3Server;
  let client: S3Client;
  before(async () => {
    server = await startS3Server(BUCKET);
    client = new S3Client({
      region: server.region,
      endpoint: server.endpoint,
      forcePathStyle: true,
      credentials: { accessKeyId: server.accessKeyId, secretAccessKey: server.secretAccessKey },
    });
  });
  after(async () => {
    client.destroy();
    await server.stop();
  });

  describeObjectStore('an S3 bucket', async () => ({
    store: createS3Store({ ...server, bucket: BUCKET, prefix: '' }),
    unfinished: () => countUploads(client),
    close: async () => {},
  }));

  describeObjectStore('a prefix of an S3 bucket', async () => ({
    store: await openStore({ storeUrl: `s3://${BUCKET}/some/prefix/`, s3: server }),
    unfinished: () => countUploads(client),
    close: async () => {},
  }));

  describe('the S3 store', () => {
    it('keeps to its prefix: neighbours with the same beginning are neither listed nor deleted', async () => {
      const store = createS3Store({ ...server, bucket: BUCKET, prefix: 'mine' });
      await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'mineral/1', Body: 'theirs' }));

      await store.put('1', Buffer.from('mine'), PNG);

      const keys: string[] = [];
      for await (const found of store.list('')) keys.push(found.key);
      assert.deepEqual(keys, ['1']);
      await store.delete('1');
      const answer = await client.send(new ListObjectsV2Command({ Bucket: BUCKET, Prefix: 'mine' }));
      assert.deepEqual(
        answer.Contents?.map(({ Key }) => Key),
        ['mineral/1'],
      );
      await store.close();
    });

    it('stores the type, whether the body is in memory, a small stream or one of several parts', async () => {
      const store = createS3Store({ ...server, bucket: BUCKET, prefix: 'typed' });
      await store.put('bytes', Buffer.from('x'), PNG);
      await store.put('small', Readable.from([Buffer.from('x')]), PNG);
      await store.put('large', Readable.from([randomBytes(6 * 1024 * 1024)]), PNG);

      for (const key of ['bytes', 'small', 'large']) {
        const answer = await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: `typed/${key}` }));
        assert.equal(answer.ContentType, 'image/png');
      }
      await store.close();
    });

    it('lists more objects than one answer of the server holds', async () => {
      const store = createS3Store({ ...server, bucket: BUCKET, prefix: 'many' });
      const keys = Array.from({ length: 1050 }, (_, index) => `object-${index}`);
      const queue = [...keys];
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          for (let key = queue.pop(); key; key = queue.pop()) await store.put(key, Buffer.from('x'), PNG);
        }),
      );

      const found: string[] = [];
      for await (const object of store.list('')) found.push(object.key);

      assert.deepEqual(found.toSorted(), keys.toSorted());
      await store.close();
    });

    it('aborts an upload that was left behind a day ago when it checks itself, and no younger one', async () => {
      const store = createS3Store({ ...server, bucket: BUCKET, prefix: 'uploads' });
      const old = await client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key: 'uploads/old' }));
      const young = await client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key: 'uploads/young' }));
      await makeOld(server, old.UploadId);

      await store.check();

      const answer = await client.send(new ListMultipartUploadsCommand({ Bucket: BUCKET, Prefix: 'uploads/' }));
      assert.deepEqual(
        answer.Uploads?.map(({ UploadId }) => UploadId),
        [young.UploadId],
      );
      await client.send(
        new AbortMultipartUploadCommand({ Bucket: BUCKET, Key: 'uploads/young', UploadId: young.UploadId }),
      );
      await store.close();
    });

    it('fails its check, and says neither key nor address, where bucket, credentials or server are wrong', async () => {
      const closed = 'http://127.0.0.1:9'; // The discard port: nothing listens there.
      const wrong = [
        { ...server, bucket: 'no-such-bucket', prefix: '' },
        { ...server, bucket: BUCKET, prefix: '', secretAccessKey: 'wrong' },
        { ...server, bucket: BUCKET, prefix: '', endpoint: closed },
      ];
      for (const options of wrong) {
        const store = createS3Store(options);
        await assert.rejects(store.check(), (error) => {
          assert.ok(error instanceof StoreUnavailableError);
          assert.doesNotMatch(error.message, /127\.0\.0\.1|test|wrong/);
          return error.cause !== undefined;
        });
        await store.close();
      }
    });

    it('does not take a missing bucket for a missing object', async () => {
      const store = createS3Store({ ...server, bucket: 'no-such-bucket', prefix: '' });

      await assert.rejects(store.read('a'), (error) => !(error instanceof ObjectNotFoundError));
      await store.close();
    });
  });
}

/** The server stores an upload as a directory of that name, and its time is the directory's. */
async function makeOld(server: S3Server, uploadId: string | undefined): Promise<void> {
  const directories = await readdir(server.directory, { recursive: true });
  const directory = directories.find((name) => path.basename(name) === uploadId);
  assert.ok(directory, 'the server keeps the upload elsewhere');
  const longAgo = new Date(Date.now() - 25 * 60 * 60 * 1000);
  await utimes(path.join(server.directory, directory), longAgo, longAgo);
}

async function countUploads(client: S3Client): Promise<number> {
  const answer = await client.send(new ListMultipartUploadsCommand({ Bucket: BUCKET }));
  return answer.Uploads?.length ?? 0;
}
