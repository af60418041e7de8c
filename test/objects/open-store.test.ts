import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { StoreUrlError, openStore } from '../../src/objects/stores/open-store.ts';

const S3 = { endpoint: undefined, region: 'us-east-1', accessKeyId: undefined, secretAccessKey: undefined };

describe('openStore', () => {
  it('opens the directory of a file URL, with spaces', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'open store-'));
    const store = await openStore({ storeUrl: pathToFileURL(directory).href, s3: S3 });

    await store.put('a/b', Buffer.from('x'), { mimeType: 'image/png' });

    assert.equal(await readFile(path.join(directory, 'a/b'), 'utf8'), 'x');
    await rm(directory, { recursive: true });
  });

  it('opens a bucket, with and without a prefix, without a network request', async () => {
    for (const storeUrl of ['s3://outputs', 's3://outputs/', 's3://outputs/a/prefix', 's3://outputs/a/prefix/']) {
      await (await openStore({ storeUrl, s3: S3 })).close();
    }
  });

  const rejected: [storeUrl: string, problem: RegExp][] = [
    ['', /not a URL/],
    ['outputs', /not a URL/],
    ['/var/outputs', /not a URL/],
    ['https://bucket.example.com', /begins with https:/],
    ['file://server/outputs', /three slashes/],
    ['file:///', /root of the file system/],
    ['file:///outputs?x=1', /query/],
    ['file:///outputs#x', /fragment/],
    ['file:///a%2Fb', /three slashes/],
    ['s3://', /bucket/],
    ['s3:///prefix', /bucket/],
    ['s3://UPPER/x', /bucket/],
    ['s3://a/x', /bucket/],
    ['s3://outputs/a//b', /segments/],
    ['s3://outputs/a%20b', /segments/],
    ['s3://key:secret@outputs/a', /credentials/],
  ];
  for (const [storeUrl, problem] of rejected) {
    it(`rejects ${JSON.stringify(storeUrl)} with the reason`, async () => {
      await assert.rejects(
        () => openStore({ storeUrl, s3: S3 }),
        (error) => error instanceof StoreUrlError && problem.test(error.message) && !error.message.includes('secret'),
      );
    });
  }

  it('rejects half of the credentials', async () => {
    await assert.rejects(
      () => openStore({ storeUrl: 's3://outputs', s3: { ...S3, accessKeyId: 'id' } }),
      StoreUrlError,
    );
  });
});
