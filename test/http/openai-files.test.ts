/** Files in the form of OpenAI's API: uploads with a purpose (contract §7.5). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { ACCOUNT_UPLOAD_BYTES, MAX_UPLOAD_BYTES, expireFiles } from '../../src/objects/uploads.ts';
import { MAX_BATCH_FILE_BYTES } from '../../src/objects/openai-files.ts';
import { definition } from '../catalogue/definitions.ts';
import { fillUploads } from './media-calls.ts';
import { errorOf, raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { fileForm } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const DAY_SECONDS = 86_400;
const LINES = '{"custom_id":"a"}\n{"custom_id":"b"}\n';
const EDITS = definition({
  name: 'acme/edits',
  inputSchema: {
    type: 'object',
    additionalProperties: false,
    properties: { prompt: { type: 'string' }, image_url: { type: 'string', contentMediaType: 'image/*' } },
  },
  dialects: { openai: { 'images/edits': { prompt: { field: 'prompt' }, image: { field: 'image_url' } } } },
});

interface WireFile {
  readonly id: string;
  readonly bytes: number;
  readonly created_at: number;
  readonly expires_at: number;
  readonly filename: string;
}
interface Page {
  readonly data: readonly WireFile[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

let served: ServedApp;
let account: ServedAccount;
let image: Buffer;
let aheadMs = 0;
before(async () => {
  served = await serveApp({ models: [EDITS], now: () => Date.now() + aheadMs });
  account = await served.newAccount();
  image = await sharp({ create: { width: 8, height: 6, channels: 3, background: '#d9532f' } })
    .png()
    .toBuffer();
});
after(() => served.close());

async function upload(
  fields: Readonly<Record<string, string>>,
  file: Buffer | string = LINES,
  name = 'lines.jsonl',
  of: ServedAccount = account,
): Promise<RawAnswer> {
  const { headers, body } = await fileForm(fields, file, name);
  return raw(served.url, 'POST', '/v1/files', { ...headers, Authorization: `Bearer ${of.client.key}` }, body);
}

function parsed<T>(answer: RawAnswer): T {
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text) as T;
}

function get(path: string, headers: Record<string, string> = {}, of: ServedAccount = account): Promise<RawAnswer> {
  return raw(served.url, 'GET', path, { ...headers, Authorization: `Bearer ${of.client.key}` });
}

/** The parameter and the message of a rejected request. */
function rejectionOf(answer: RawAnswer): readonly [status: number, param: string | null, message: string] {
  const { error } = JSON.parse(answer.text) as { error: { param: string | null; message: string } };
  return [answer.status, error.param, error.message];
}

/** Everything in the store, and every row: nothing of a rejected upload may remain. */
async function leftOvers(): Promise<readonly [objects: number, rows: number]> {
  let objects = 0;
  for await (const _ of served.store.list('files/')) objects += 1;
  return [objects, (await served.room.rows('SELECT id FROM files')).length];
}

describe('a file with a purpose', () => {
  it('has the form of OpenAI, without the envelope, and keeps it when it is read', async () => {
    const file = parsed<WireFile>(await upload({ purpose: 'batch' }));

    assert.match(file.id, /^file-[0-9A-HJKMNP-TV-Z]{26}$/);
    assert.deepEqual(file, {
      id: file.id,
      object: 'file',
      bytes: LINES.length,
      created_at: file.created_at,
      expires_at: file.created_at + 30 * DAY_SECONDS,
      filename: 'lines.jsonl',
      purpose: 'batch',
      status: 'processed',
    });
    assert.deepEqual(parsed(await get(`/v1/files/${file.id}`)), file);
  });

  it('is kept as long as expires_after says', async () => {
    const expiry = { 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '3600' };
    const file = parsed<WireFile>(await upload({ purpose: 'batch', ...expiry }));

    assert.equal(file.expires_at - file.created_at, 3_600);
    aheadMs = 3_601_000;
    try {
      assert.equal((await get(`/v1/files/${file.id}`)).status, 404);
      assert.equal((await get(`/v1/files/${file.id}/content`)).status, 404);
      const { data } = parsed<Page>(await get('/v1/files'));
      assert.ok(!data.some(({ id }) => id === file.id));
      const now = Date.now() + aheadMs;
      await expireFiles(served.room.database, { now, urlGraceSeconds: 0, limit: 100 });
      const rows = await served.room.rows('SELECT id FROM files WHERE id = $1 AND gone_at IS NOT NULL', file.id);
      assert.equal(rows.length, 1);
    } finally {
      aheadMs = 0;
    }
  });

  it('may be sent before or after its fields', async () => {
    const form = new FormData();
    form.append('file', new Blob([LINES]), 'lines.jsonl');
    form.append('purpose', 'batch');
    const headers = { Authorization: `Bearer ${account.client.key}` };
    const answer = await fetch(`${served.url}/v1/files`, { method: 'POST', headers, body: form });

    assert.match(((await answer.json()) as WireFile).id, /^file-/);
  });

  it('is of a kind that its purpose takes', async () => {
    const before = await leftOvers();
    for (const [fields, file, name, status, param] of [
      [{ purpose: 'batch' }, LINES, 'lines.txt', 400, 'file'],
      [{ purpose: 'vision' }, LINES, 'a.png', 415, null],
      [{ purpose: 'batch' }, '', 'lines.jsonl', 400, null],
    ] as const) {
      const [answered, at] = rejectionOf(await upload(fields, file, name));
      assert.deepEqual([answered, at], [status, param], JSON.stringify(fields));
    }
    assert.deepEqual(await leftOvers(), before);
    parsed(await upload({ purpose: 'vision' }, image, 'fox.png'));
    const text = parsed<WireFile>(await upload({ purpose: 'user_data' }, '<script>alert(1)</script>', 'page.html'));
    const content = await get(`/v1/files/${text.id}/content`);
    assert.equal(content.headers['content-type'], 'application/octet-stream');
    assert.match(String(content.headers['content-disposition']), /^attachment; filename="page\.html"$/);
  });

  // Case 16.
  it('is downloaded under its own name, in whatever script that is', async () => {
    for (const [name, plain, whole] of [
      ['照片.png', '__.png', '%E7%85%A7%E7%89%87.png'],
      ["Müller's photo (1).png", 'M_ller_s_photo__1_.png', 'M%C3%BCller%27s%20photo%20%281%29.png'],
    ] as const) {
      const { id, filename } = parsed<WireFile>(await upload({ purpose: 'user_data' }, 'text', name));
      const { headers } = await get(`/v1/files/${id}/content`);

      assert.equal(filename, name);
      assert.equal(headers['content-disposition'], `attachment; filename="${plain}"; filename*=UTF-8''${whole}`);
    }
  });

  it('is rejected with the name of a wrong field, and nothing is stored', async () => {
    const anchor = 'expires_after[anchor]';
    const seconds = 'expires_after[seconds]';
    const before = await leftOvers();
    for (const [fields, param] of [
      [{ purpose: 'fine-tune' }, 'purpose'],
      [{ purpose: 'assistants' }, 'purpose'],
      [{ purpose: '' }, 'purpose'],
      [{ purpose: '\u0000\n' }, 'purpose'],
      [{ purpose: 'batch', other: '1' }, 'other'],
      [{ [anchor]: 'created_at', [seconds]: '3600' }, anchor],
      [{ purpose: 'batch', [anchor]: 'last_active_at', [seconds]: '3600' }, anchor],
      [{ purpose: 'batch', [seconds]: '3600' }, anchor],
      [{ purpose: 'batch', [anchor]: 'created_at' }, seconds],
      [{ purpose: 'batch', [anchor]: 'created_at', [seconds]: '3599' }, seconds],
      [{ purpose: 'batch', [anchor]: 'created_at', [seconds]: '2592001' }, seconds],
      [{ purpose: 'batch', [anchor]: 'created_at', [seconds]: '1e9' }, seconds],
    ] as const) {
      const [status, at] = rejectionOf(await upload(fields));
      assert.deepEqual([status, at], [400, param], JSON.stringify(fields));
    }
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('purpose', 'vision');
    form.append('file', new Blob([LINES]), 'lines.jsonl');
    const headers = { Authorization: `Bearer ${account.client.key}` };
    const twice = await fetch(`${served.url}/v1/files`, { method: 'POST', headers, body: form });
    assert.match(((await twice.json()) as { message: string }).message, /purpose: it is given twice/);
    assert.deepEqual(await leftOvers(), before);
  });

  it('has at most 200 MB for batches and 100 MB otherwise', async () => {
    const largest = Buffer.alloc(MAX_BATCH_FILE_BYTES, '{}\n');
    assert.equal(parsed<WireFile>(await upload({ purpose: 'batch' }, largest)).bytes, MAX_BATCH_FILE_BYTES);
    const before = await leftOvers();
    for (const [purpose, file, name] of [
      ['batch', Buffer.concat([largest, Buffer.from('\n')]), 'lines.jsonl'],
      ['user_data', largest.subarray(0, MAX_UPLOAD_BYTES + 1), 'lines.jsonl'],
      ['user_data', largest.subarray(0, MAX_UPLOAD_BYTES + 1), 'a.bin'],
    ] as const) {
      const answer = await upload({ purpose }, file, name);
      assert.deepEqual(errorOf(answer), { status: 413, code: 'PAYLOAD_TOO_LARGE' }, `${purpose} ${name}`);
    }
    assert.deepEqual(await leftOvers(), before);
  });

  it('counts against the same limit as other uploads', async () => {
    const full = await served.newAccount();
    await fillUploads(served, full, ACCOUNT_UPLOAD_BYTES - 1);

    const answer = await upload({ purpose: 'batch' }, LINES, 'lines.jsonl', full);

    assert.deepEqual(errorOf(answer), { status: 429, code: 'RATE_LIMITED' });
  });

  it('has a name without paths and control characters', async () => {
    const named = async (name: string) => parsed<WireFile>(await upload({ purpose: 'batch' }, LINES, name)).filename;

    assert.equal(await named('../../etc/lines.jsonl'), 'lines.jsonl');
    assert.equal(await named('C:\\data\\lines.jsonl'), 'lines.jsonl');
    assert.equal(await named(`${'x'.repeat(400)}.jsonl`), 'x'.repeat(255));
  });

  it('belongs to its account alone', async () => {
    const file = parsed<WireFile>(await upload({ purpose: 'batch' }));
    const stranger = await served.newAccount();
    const header = { Authorization: `Bearer ${stranger.client.key}` };

    assert.equal((await get(`/v1/files/${file.id}`, {}, stranger)).status, 404);
    assert.equal((await get(`/v1/files/${file.id}/content`, {}, stranger)).status, 404);
    assert.equal((await raw(served.url, 'DELETE', `/v1/files/${file.id}`, header)).status, 404);
    assert.deepEqual(parsed<Page>(await get('/v1/files', {}, stranger)).data, []);
    assert.equal((await get(`/v1/files?after=${file.id}`, {}, stranger)).status, 400);
    assert.equal((await get(`/v1/files/${file.id}`)).status, 200);
  });

  it('is deleted in the form of OpenAI, once', async () => {
    const file = parsed<WireFile>(await upload({ purpose: 'batch' }));
    const header = { Authorization: `Bearer ${account.client.key}` };
    const remove = () => raw(served.url, 'DELETE', `/v1/files/${file.id}`, header);

    assert.deepEqual(parsed(await remove()), { id: file.id, object: 'file', deleted: true });
    assert.equal((await remove()).status, 404);
    assert.equal((await get(`/v1/files/${file.id}/content`)).status, 404);
  });
});

describe('the content of a file', () => {
  it('is returned whole, in part, and not at all to who has it', async () => {
    const file = parsed<WireFile>(await upload({ purpose: 'batch' }));
    const path = `/v1/files/${file.id}/content`;
    const whole = await get(path);

    assert.deepEqual([whole.status, whole.text, whole.headers['cache-control']], [200, LINES, 'private, no-cache']);
    assert.equal(whole.headers['access-control-allow-origin'], undefined);
    assert.equal((await get(path, { Range: 'bytes=2-10' })).text, 'custom_id');
    assert.equal((await get(path, { 'If-None-Match': String(whole.headers['etag']) })).status, 304);
    assert.equal((await get(path, { 'If-None-Match': '"other"' })).status, 200);
  });

  it('is there for files in our form as well', async () => {
    const headers = { Authorization: `Bearer ${account.client.key}` };
    const { data } = parsed<{ data: { id: string } }>(await raw(served.url, 'POST', '/v1/files', headers, image));
    const answer = await get(`/v1/files/${data.id}/content`);

    assert.deepEqual([answer.status, answer.headers['content-type']], [200, 'image/png']);
  });
});

describe('the list of files', () => {
  it('is read page by page in both orders, by purpose, without files in our form', async () => {
    const owner = await served.newAccount();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) {
      ids.push(parsed<WireFile>(await upload({ purpose: 'batch' }, LINES, 'lines.jsonl', owner)).id);
    }
    const picture = parsed<WireFile>(await upload({ purpose: 'vision' }, image, 'fox.png', owner));
    await raw(served.url, 'POST', '/v1/files', { Authorization: `Bearer ${owner.client.key}` }, image);
    const list = async (query: string) => parsed<Page>(await get(`/v1/files?${query}`, {}, owner));

    for (const order of ['asc', 'desc']) {
      const seen: string[] = [];
      let after = '';
      for (let isMore = true; isMore;) {
        const page = await list(`purpose=batch&limit=2&order=${order}${after}`);
        seen.push(...page.data.map(({ id }) => id));
        assert.deepEqual([page.first_id, page.last_id], [page.data[0]?.id, page.data.at(-1)?.id]);
        after = `&after=${page.last_id}`;
        isMore = page.has_more;
      }
      assert.deepEqual(seen, order === 'asc' ? ids : ids.toReversed());
    }
    assert.equal((await list('')).data.length, 6);
    assert.deepEqual((await list('purpose=vision')).data, [picture]);
    assert.deepEqual(await list('purpose=user_data'), {
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
    // A deleted file is still a place in the list.
    const header = { Authorization: `Bearer ${owner.client.key}` };
    await raw(served.url, 'DELETE', `/v1/files/${ids[2]}`, header);
    const rest = await list(`purpose=batch&order=asc&after=${ids[2]}`);
    assert.deepEqual(
      rest.data.map(({ id }) => id),
      ids.slice(3),
    );
  });

  it('rejects what is no page', async () => {
    for (const [query, param] of [
      ['limit=10001', 'limit'],
      ['purpose=fine-tune', 'purpose'],
      [`after=${'x'.repeat(65)}`, 'after'],
    ]) {
      const [status, at] = rejectionOf(await get(`/v1/files?${query}`));
      assert.deepEqual([status, at], [400, param], query);
    }
  });
});

describe('a file that a request names by its id', () => {
  const edit = (of: ServedAccount, fileId: string): Promise<RawAnswer> => {
    const headers = { Authorization: `Bearer ${of.client.key}`, 'Content-Type': 'application/json' };
    const sent = { model: 'acme/edits', prompt: 'snow', images: [{ file_id: fileId }] };
    const path = '/v1/images/edits';
    return raw(served.url, 'POST', path, { ...headers, Prefer: 'respond-async' }, JSON.stringify(sent));
  };

  it('becomes an input of a task, whatever its form', async () => {
    const editor = await served.newAccount();
    const own = await raw(served.url, 'POST', '/v1/files', { Authorization: `Bearer ${editor.client.key}` }, image);
    const ids = [
      parsed<WireFile>(await upload({ purpose: 'vision' }, image, 'fox.png', editor)).id,
      parsed<{ data: WireFile }>(own).data.id,
    ];
    for (const id of ids) {
      const answer = await edit(editor, id);
      assert.equal(answer.status, 202, answer.text);
      const [task] = await served.room.rows<{ id: string; input: unknown }>(
        'SELECT id, input FROM tasks WHERE account_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1',
        editor.id,
      );
      assert.deepEqual(task?.input, { prompt: 'snow', image_url: `darkroom:${id}` });
      const { body: read } = await editor.client.send('GET', `/v1/tasks/${task.id}?include=input`);
      const shown = (read.data as unknown as { input: { image_url: string } }).input.image_url;
      assert.equal((await fetch(shown)).headers.get('content-type'), 'image/png');
    }
  });

  it('is rejected where it is none of the account, or not of the type of the field', async () => {
    const stranger = await served.newAccount();
    const theirs = parsed<WireFile>(await upload({ purpose: 'vision' }, image, 'fox.png', stranger)).id;
    for (const id of [theirs, `file-${'0'.repeat(26)}`, 'file-1']) {
      assert.deepEqual(rejectionOf(await edit(account, id)).slice(0, 2), [404, 'images.0.file_id']);
    }
    assert.deepEqual(rejectionOf(await edit(account, "' OR 1=1")).slice(0, 2), [400, 'images.0.file_id']);
    assert.deepEqual(rejectionOf(await edit(account, '')).slice(0, 2), [400, 'images.0']);
    const { id } = parsed<WireFile>(await upload({ purpose: 'batch' }));
    const answer = await edit(account, id);
    assert.deepEqual(rejectionOf(answer).slice(0, 2), [400, 'images'], answer.text);
    assert.match(answer.text, /got application\/jsonl, want image/);
  });
});
