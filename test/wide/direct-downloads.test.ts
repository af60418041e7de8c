/** `DOWNLOADS=direct` on a real S3 server: clients fetch bytes from the store itself (contract §3). */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { connectMcp } from '../clients/mcp-connection.ts';
import { addressesIn, noise, imagesIn } from '../clients/mcp-images.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { startS3Server, whyNoS3Server } from '../support/versitygw.ts';
import type { S3Server } from '../support/versitygw.ts';
import { body } from '../tasks/task-room.ts';

describe('a direct download', { skip: whyNoS3Server() }, () => {
  let server: S3Server;
  let served: ServedApp;
  let account: ServedAccount;
  let now = Date.now();
  before(async () => {
    server = await startS3Server('outputs');
    served = await serveApp({
      environment: {
        STORE_URL: 's3://outputs/kept',
        S3_ENDPOINT: server.endpoint,
        S3_REGION: server.region,
        S3_ACCESS_KEY_ID: server.accessKeyId,
        S3_SECRET_ACCESS_KEY: server.secretAccessKey,
        DOWNLOADS: 'direct',
      },
      now: () => now,
    });
    account = await served.newAccount();
  });
  after(async () => {
    await served.close();
    await server.stop();
  });

  async function storedOutput(bytes: Buffer): Promise<{ taskId: string; id: string; url: string }> {
    const { taskId } = (await account.client.create(body())).body.data;
    await served.succeed(taskId, bytes);
    const [output] = (await account.client.get(taskId)).body.data.output ?? [];
    assert.ok(output);
    return { taskId, id: output.id, url: output.url };
  }

  it('is sent from our URL to the store, which brings the very bytes with type and name', async () => {
    const bytes = randomBytes(1_000);
    const { taskId, url } = await storedOutput(bytes);

    const sent = await fetch(url, { redirect: 'manual' });
    assert.equal(sent.status, 307);
    assert.ok(sent.headers.get('location')?.startsWith(server.endpoint));
    assert.equal(sent.headers.get('cache-control'), 'private, no-store');

    const response = await fetch(url);
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytes);
    assert.equal(response.headers.get('content-type'), 'image/png');
    assert.equal(response.headers.get('content-disposition'), `inline; filename="${taskId}-1.png"`);
    const asFile = await fetch(`${url}?download`);
    assert.equal(asFile.headers.get('content-disposition'), `attachment; filename="${taskId}-1.png"`);
    await asFile.body?.cancel();
    const part = await fetch(url, { headers: { Range: 'bytes=10-19' } });
    assert.equal(part.status, 206);
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(10, 20));
    const head = await fetch(url, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.headers.get('content-length'), '1000');
  });

  it('leaves the tools of /mcp their images, which the api makes small copies of', async () => {
    const image = await noise(300, 200);
    const { taskId, url } = await storedOutput(image.bytes);
    const mcp = await connectMcp('http', served.url, account.client.key);
    try {
      for (const media of ['preview', 'full']) {
        const answer = await mcp.call('get_task', { task_id: taskId, media });
        assert.deepEqual(
          imagesIn(answer).map(({ mimeType }) => mimeType),
          ['image/jpeg'],
        );
        assert.deepEqual(addressesIn(answer), [url]);
      }
    } finally {
      await mcp.close();
    }
  });

  it('is still rejected when the URL has expired, or the output was deleted', async () => {
    const { id, url } = await storedOutput(randomBytes(10));
    const other = await storedOutput(randomBytes(10));
    assert.equal((await account.client.send('DELETE', `/v1/storages/${id}`)).status, 200);
    assert.equal((await fetch(url, { redirect: 'manual' })).status, 404);

    now += 3 * 3_600_000;
    assert.equal((await fetch(other.url, { redirect: 'manual' })).status, 403);
  });
});
