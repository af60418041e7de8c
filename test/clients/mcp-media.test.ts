/** Which of a task's images a tool's answer includes, and that no answer is larger than clients accept. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { raw } from '../http/raw-request.ts';
import { serveApp } from '../http/serve.ts';
import type { MadeOutput, ServedAccount, ServedApp } from '../http/serve.ts';
import { body as taskBody } from '../tasks/task-room.ts';
import { WAYS, connectMcp } from './mcp-connection.ts';
import type { Called, McpConnection } from './mcp-connection.ts';
import { MAX_EVENT_BYTES, MAX_INLINE_BYTES, addressesIn, inlineBytes, noise, imagesIn } from './mcp-images.ts';

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

/** A task that has produced these outputs. */
async function doneTask(made: readonly MadeOutput[], changes: Record<string, unknown> = {}): Promise<string> {
  const { taskId } = (await account.client.create(taskBody(changes))).body.data;
  await served.succeedWith(taskId, made);
  return taskId;
}

async function sizeOf(data: string): Promise<{ format: string; longEdge: number }> {
  const { format, width, height } = await sharp(Buffer.from(data, 'base64')).metadata();
  return { format, longEdge: Math.max(width, height) };
}

for (const way of WAYS) {
  describe(`the images of an answer over ${way}`, () => {
    let mcp: McpConnection;
    before(async () => {
      mcp = await connectMcp(way, served.url, account.client.key);
    });
    after(() => mcp.close());

    async function getTask(taskId: string, media?: string): Promise<Called> {
      const answer = await mcp.call('get_task', { task_id: taskId, ...(media === undefined ? {} : { media }) });
      assert.equal(answer.isError, false, answer.text);
      return answer;
    }

    it('are small copies of large ones unless requested otherwise, and links are always included', async () => {
      const large = await noise(1600, 1000);
      assert.ok(large.bytes.length > MAX_EVENT_BYTES);
      const taskId = await doneTask([large]);

      for (const media of [undefined, 'preview', 'full']) {
        const answer = await getTask(taskId, media);
        const [image, ...others] = imagesIn(answer);
        assert.ok(image);
        assert.deepEqual(others, []);
        assert.equal(image.mimeType, 'image/jpeg');
        const { format, longEdge } = await sizeOf(image.data);
        assert.equal(format, 'jpeg');
        assert.ok(longEdge <= 768 && longEdge >= 384, String(longEdge));
        const [address, ...more] = addressesIn(answer);
        assert.deepEqual(more, []);
        const original = Buffer.from(await (await fetch(address ?? '')).arrayBuffer());
        assert.ok(original.equals(large.bytes));
      }
      const none = await getTask(taskId, 'none');
      assert.deepEqual([imagesIn(none).length, addressesIn(none).length], [0, 1]);
    });

    it('are originals when requested and when they fit', async () => {
      const fitting = await noise(900, 150, 'png');
      assert.ok(fitting.bytes.length > 300_000 && fitting.bytes.length < 525_000, String(fitting.bytes.length));
      const taskId = await doneTask([fitting]);

      const [full] = imagesIn(await getTask(taskId, 'full'));
      assert.ok(full && Buffer.from(full.data, 'base64').equals(fitting.bytes));
      assert.equal(full.mimeType, 'image/png');

      const [preview] = imagesIn(await getTask(taskId));
      assert.ok(preview);
      assert.deepEqual(await sizeOf(preview.data), { format: 'jpeg', longEdge: 768 });
    });

    it('have 700 kB together, however many there are and whatever is requested', async () => {
      const made = await Promise.all(Array.from({ length: 12 }, () => noise(700, 170)));
      const taskId = await doneTask(made);

      for (const media of ['preview', 'full']) {
        const answer = await getTask(taskId, media);
        assert.ok(imagesIn(answer).length >= 4, media);
        assert.ok(inlineBytes(answer) <= MAX_INLINE_BYTES, `${media}: ${inlineBytes(answer)}`);
        assert.equal(addressesIn(answer).length, made.length);
      }
    });

    it('of a video are its thumbnail, as it was stored', async () => {
      const frame = await noise(800, 500);
      const jpeg = await sharp({ create: { width: 512, height: 320, channels: 3, background: '#36c' } })
        .jpeg()
        .toBuffer();
      const video = { type: 'video', bytes: Buffer.from('a video'), mimeType: 'video/mp4', width: 800, height: 500 };
      const thumbnail = { type: 'thumbnail', bytes: jpeg, mimeType: 'image/jpeg', width: 512, height: 320 };
      const frames = [{ ...frame, type: 'first_frame' }, { ...frame, type: 'last_frame' }, thumbnail];
      const answer = await getTask(await doneTask([video, ...frames]));

      const images = imagesIn(answer);
      assert.deepEqual(
        images.map(({ data }) => data),
        [jpeg.toString('base64')],
      );
      assert.equal(addressesIn(answer).length, 4);
    });

    it('are omitted when they cannot be read, and the links are included', async () => {
      const broken = {
        type: 'image',
        bytes: Buffer.from('no image'),
        mimeType: 'image/png',
        width: 9_999,
        height: 1,
      };
      const song = { type: 'audio', bytes: Buffer.from('a song'), mimeType: 'audio/mpeg' };
      const answer = await getTask(await doneTask([broken, song]));
      assert.deepEqual([imagesIn(answer).length, addressesIn(answer).length], [0, 2]);
    });

    it('leave room for texts: the whole answer stays below the limit of clients', async () => {
      const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`k${n}`, '"\u0001'.repeat(256)]));
      for (let count = 0; count < 60; count += 1) await account.client.create(taskBody({ metadata }));
      const page = await mcp.call('list_tasks', { size: 50 });
      assert.ok(Buffer.byteLength(JSON.stringify(page.content)) < MAX_EVENT_BYTES);
      assert.match(page.text, /\[Cut: the answer is longer than one call may be/);
    });
  });
}

describe('an answer of /mcp', () => {
  /** The single event of a tool call, as it is on the wire. */
  async function eventOf(name: string, args: object, headers: Record<string, string> = {}): Promise<string> {
    const sent = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
    const answer = await raw(
      served.url,
      'POST',
      '/mcp',
      {
        Authorization: `Bearer ${account.client.key}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      JSON.stringify(sent),
    );
    assert.equal(answer.status, 200, answer.text.slice(0, 500));
    // A connection that stays open for long sends comments.
    const event = answer.text.replace(/^(?:: keepalive\n\n)+/, '');
    assert.match(event, /^event: message\n/);
    return event;
  }

  it('is one event of less than 1 MiB, even with the largest images and metadata', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`k${n}`, '"\u0001'.repeat(256)]));
    const made = await Promise.all(Array.from({ length: 8 }, () => noise(1024, 160, 'jpeg')));
    const taskId = await doneTask(made, { metadata });
    for (const media of ['preview', 'full']) {
      const event = await eventOf('get_task', { task_id: taskId, media }, { 'Mcp-Protocol-Version': '2025-11-25' });
      assert.ok(event.length > 300_000, String(event.length));
      assert.ok(Buffer.byteLength(event) < MAX_EVENT_BYTES, String(Buffer.byteLength(event)));
    }
  });

  it('has links for clients that support them, and URLs as text for older ones', async () => {
    const taskId = await doneTask([await noise(20, 20)]);
    const kindsFor = async (headers: Record<string, string>): Promise<readonly string[]> => {
      const event = await eventOf('get_task', { task_id: taskId }, headers);
      const { result } = JSON.parse(event.slice(event.indexOf('{'))) as { result: Called };
      assert.equal(addressesIn(result).length, 1);
      return result.content.map(({ type }) => type);
    };
    assert.deepEqual(await kindsFor({ 'Mcp-Protocol-Version': '2025-06-18' }), ['text', 'resource_link', 'image']);
    assert.deepEqual(await kindsFor({ 'Mcp-Protocol-Version': '2025-03-26' }), ['text', 'text', 'image']);
    // The header is of 2025-06-18.
    assert.deepEqual(await kindsFor({}), ['text', 'text', 'image']);
  });
});
