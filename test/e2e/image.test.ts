/** The main use case of a new user: create, poll, download. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';

describe('an image from one HTTP call', () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom();
  });
  after(() => darkroom.stop());

  // Proves S4.1-1.
  it('returns an id immediately and serves a real PNG of the requested size', async () => {
    const { client } = await darkroom.createAccount();

    const created = await client.create({
      model: 'darkroom/scene',
      input: { prompt: 'a lighthouse at sunset', aspect_ratio: '16:9', resolution: '1k' },
    });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    assert.match(created.body.data.taskId, /^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$/);

    const task = await client.waitForTerminal(created.body.data.taskId);
    assert.equal(task.status, 'success', JSON.stringify(task));
    const [output] = task.output ?? [];
    assert.ok(output);
    const response = await fetch(output.url);
    const bytes = Buffer.from(await response.arrayBuffer());
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'image/png');
    assert.equal(bytes.subarray(1, 4).toString('latin1'), 'PNG');
    // IHDR: width and height are the first two words of the first chunk.
    assert.equal(bytes.readUInt32BE(16), output.width);
    assert.equal(bytes.readUInt32BE(20), output.height);
    assert.equal(bytes.length, output.sizeBytes);
    assert.equal(createHash('sha256').update(bytes).digest('hex'), output.sha256);
  });
});
