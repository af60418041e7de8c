/** Files of the account as images of text requests: `input_image.file_id` (contract §9.2). */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { packageFile } from '../../src/config/package-root.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { fileForm } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

type Json = Readonly<Record<string, unknown>>;

const PNG = await sharp({ create: { width: 8, height: 6, channels: 3, background: '#d9532f' } })
  .png()
  .toBuffer();

let served: ServedApp;
let account: ServedAccount;
let fileId: string;
before(async () => {
  // One account may have 16 MB in memory.
  served = await serveApp({ environment: { BODY_MB_IN_FLIGHT: '64' } });
  account = await served.newAccount();
  fileId = await upload(PNG);
});
after(() => served.close());

async function upload(file: Buffer | string, of: ServedAccount = account, purpose = 'user_data'): Promise<string> {
  const { headers, body } = await fileForm({ purpose }, file, 'a.png');
  const answer = await raw(
    served.url,
    'POST',
    '/v1/files',
    { ...headers, Authorization: `Bearer ${of.client.key}` },
    body,
  );
  assert.equal(answer.status, 200, answer.text);
  return (JSON.parse(answer.text) as { id: string }).id;
}

function send(path: string, body: Json, key = account.client.key): Promise<RawAnswer> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  return raw(served.url, 'POST', path, headers, JSON.stringify({ model: 'acme/text', ...body }));
}

const TEXT = 'Describe this image.';

const inResponses = (image: Json): Json => ({
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: TEXT },
        { type: 'input_image', ...image },
      ],
    },
  ],
});
const inChat = (part: Json): Json => ({ messages: [{ role: 'user', content: [{ type: 'text', text: TEXT }, part] }] });

describe('an image that is a file of the account', () => {
  it('is given to the model, in responses and in chat', async () => {
    const bodies: readonly (readonly [path: string, body: Json])[] = [
      ['/v1/responses', inResponses({ file_id: fileId })],
      ['/v1/responses', inResponses({ file_id: fileId, image_url: '', detail: 'low' })],
      ['/v1/responses', inResponses({ file_id: fileId, image_url: null })],
      ['/v1/chat/completions', inChat({ type: 'input_image', file_id: fileId })],
      ['/v1/chat/completions', inChat({ type: 'image_url', image_url: { file_id: fileId } })],
    ];
    for (const [path, body] of bodies) {
      const answer = await send(path, body);

      assert.equal(answer.status, 200, answer.text);
      // The offline model says what the bytes are.
      assert.match(answer.text, /PNG/i, answer.text);
    }
  });

  it('is a JPEG to the model if it is a photograph of a phone, whatever its purpose', async () => {
    const heic = await readFile(packageFile('packages/media/test/files/turned.heic'));
    for (const purpose of ['user_data', 'vision']) {
      const answer = await send('/v1/responses', inResponses({ file_id: await upload(heic, account, purpose) }));

      assert.equal(answer.status, 200, answer.text);
      assert.match(answer.text, /JPEG/i, answer.text);
    }
    const broken = await upload(heic.subarray(0, heic.length / 2));
    const answer = await send('/v1/responses', inResponses({ file_id: broken }));
    const { error } = JSON.parse(answer.text) as { error: { param: string } };
    assert.deepEqual([answer.status, error.param], [400, 'input.0.content.1.file_id'], answer.text);
  });

  it('is stored by its id, and belongs to what continues the response', async () => {
    const { id } = JSON.parse((await send('/v1/responses', inResponses({ file_id: fileId }))).text) as { id: string };
    const headers = { Authorization: `Bearer ${account.client.key}` };
    const items = await raw(served.url, 'GET', `/v1/responses/${id}/input_items`, headers);
    const { data } = JSON.parse(items.text) as { data: readonly { content: readonly Json[] }[] };

    assert.deepEqual(data[0]?.content[1], { type: 'input_image', image_url: null, file_id: fileId, detail: 'auto' });
    const next = await send('/v1/responses', { previous_response_id: id, input: 'And now?' });
    assert.equal(next.status, 200, next.text);
  });

  it('is rejected by its field if it is none, or if there is no such file', async () => {
    const other = await served.newAccount();
    const cases: readonly Json[] = [
      { file_id: await upload('no image at all') },
      { file_id: '../etc' },
      { file_id: fileId, image_url: 'https://example.com/a.png' },
      { file_id: 'file-01JZ3V5W8Q4Y7N2K9M6B1C0D3F' },
      { file_id: await upload('x', other) },
    ];
    for (const image of cases) {
      const answer = await send('/v1/responses', inResponses(image));
      const { error } = JSON.parse(answer.text) as { error: { param: string } };

      assert.deepEqual([answer.status, error.param], [400, 'input.0.content.1.file_id'], answer.text);
    }
    const chat = await send('/v1/chat/completions', inChat({ type: 'image_url', image_url: { file_id: 'file-x' } }));
    const { error } = JSON.parse(chat.text) as { error: { param: string } };
    assert.deepEqual([chat.status, error.param], [400, 'messages.0.content.1.image_url.file_id']);
  });

  it('is too large, and not too much at this moment, if no account may have as much in memory', async () => {
    const large = await upload(PNG);
    await served.room.rows('UPDATE files SET size_bytes = 13000000 WHERE id = $1', large);
    for (const [path, body] of [
      ['/v1/responses', inResponses({ file_id: large })],
      ['/v1/chat/completions', inChat({ type: 'image_url', image_url: { file_id: large } })],
    ] as const) {
      const answer = await send(path, body);
      assert.equal(answer.status, 413, answer.text);
      assert.match(answer.text, /more memory than an account may have/);
    }
  });

  it('needs the scope for files', async () => {
    const { client } = await account.newKey({ scopes: ['text:write'] });
    const answer = await send('/v1/responses', inResponses({ file_id: fileId }), client.key);

    assert.equal(answer.status, 403);
    assert.match(answer.text, /storage:read/);
  });
});
