/**
 * Uploads whose tables are designed to take minutes and gigabytes: the api keeps responding to all other clients, and
 * reports what is wrong with the file. Each of these used to block or end the api.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { serveApp } from '../http/serve.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { HOSTILE_CONTAINERS } from '@darkroom/testing/hostile-containers';

/** Small enough to be sent often, and each expensive in its own way. */
const NAMES = [
  'an MP4 whose stts claims 4,294,967,295 entries',
  'an MP4 with 4,294,967,295 offsets in one entry of ctts',
  'a fragmented MP4 with 4,294,967,295 samples in a fragment',
];

describe('an upload with hostile tables', () => {
  let served: ServedApp;
  before(async () => {
    served = await serveApp();
  });
  after(() => served.close());

  async function upload({ client }: ServedAccount, bytes: Buffer): Promise<Response> {
    const headers = { Authorization: `Bearer ${client.key}`, 'Content-Type': 'application/octet-stream' };
    return fetch(`${served.url}/v1/files`, { method: 'POST', headers, body: new Uint8Array(bytes) });
  }

  for (const name of NAMES) {
    it(`like ${name} delays no response, and other uploads are read`, async () => {
      const [hostile, other] = [await served.newAccount(), await served.newAccount()];
      const bytes = HOSTILE_CONTAINERS[name]?.() ?? assert.fail();
      const image = await sharp({ create: { width: 8, height: 6, channels: 3, background: '#369' } })
        .png()
        .toBuffer();
      const attacks = Array.from({ length: 2 }, () => upload(hostile, bytes));

      for (let count = 0; count < 5; count++) {
        assert.equal((await fetch(`${served.url}/healthz`)).status, 200);
        assert.equal((await other.client.send('GET', '/v1/account')).status, 200);
      }
      assert.equal((await upload(other, image)).status, 200);

      for (const attack of attacks) {
        const answer = await attack;
        const { error_code, message } = (await answer.json()) as { error_code: string; message: string };
        // A file that can be read within the bounds is accepted.
        if (answer.status === 200) continue;
        assert.deepEqual([answer.status, error_code], [415, 'UNSUPPORTED_MEDIA_TYPE']);
        assert.match(message, /^the file (is not taken: it (takes|breaks|cannot)|is no image)/);
      }
    });
  }
});
