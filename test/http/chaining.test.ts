/**
 * The values of an input's media fields (contract §7 "Uploads"): URLs of this service, verified when the task is
 * created and stored as references, and other URLs, checked as far as possible without connecting.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createUrlSigner } from '../../src/objects/urls/signed-url.ts';
import { presentInput } from '../../src/presenters/task.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { definition } from '../catalogue/definitions.ts';
import { raw } from './raw-request.ts';
import { createImage } from './route-requests.ts';
import { SIGNING_KEY, serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const EDITS = definition({
  name: 'acme/edits',
  inputSchema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      prompt: { type: 'string', maxLength: 2000 },
      image_urls: { type: 'array', maxItems: 3, items: { type: 'string', contentMediaType: 'image/*' } },
      video_url: { type: 'string', contentMediaType: 'video/*' },
      image: { type: 'string', pattern: '^(https://|data:image/png;base64,)', contentMediaType: 'image/*' },
    },
  },
});

let served: ServedApp;
let account: ServedAccount;
let image: Buffer;
let aheadMs = 0;
before(async () => {
  served = await serveApp({ models: [EDITS], now: () => Date.now() + aheadMs });
  account = await served.newAccount();
  image = await createImage();
});
after(() => served.close());

interface Uploaded {
  readonly id: string;
  readonly url: string;
}

async function upload(of: ServedAccount = account): Promise<Uploaded> {
  const headers = { Authorization: `Bearer ${of.client.key}` };
  const answer = await raw(served.url, 'POST', '/v1/files', headers, image);
  assert.equal(answer.status, 200, answer.text);
  return (JSON.parse(answer.text) as { data: Uploaded }).data;
}

/** The output of a finished task. */
async function output(): Promise<Uploaded> {
  const { taskId } = (await account.client.create({ model: 'acme/images', input: { prompt: 'a fox' } })).body.data;
  await served.succeed(taskId, image);
  const [made] = (await account.client.get(taskId)).body.data.output ?? [];
  assert.ok(made);
  return made;
}

function create(input: Record<string, unknown>, key?: string, of: ServedAccount = account): Promise<ApiAnswer> {
  return of.client.create({ model: 'acme/edits', input }, key);
}

async function rejectionMessage(input: Record<string, unknown>): Promise<string> {
  const { status, body } = await create(input);
  assert.equal(status, 400, JSON.stringify(body));
  assert.equal(body.error_code, 'INVALID_REQUEST');
  return body.message;
}

/** What was stored for a task: its input, and the objects that it pins. */
async function storedOf({ body }: ApiAnswer): Promise<{ input: unknown; pins: string[] }> {
  assert.equal(body.code, 200, body.message);
  const { taskId } = body.data;
  const [task] = await served.room.rows<{ input: unknown }>('SELECT input FROM tasks WHERE id = $1', taskId);
  const pins = await served.room.rows<{ key: string }>(
    'SELECT object_key AS key FROM task_inputs WHERE task_id = $1 ORDER BY 1',
    taskId,
  );
  return { input: task?.input, pins: pins.map(({ key }) => key) };
}

describe('a URL of this service in an input', () => {
  // Proves C7-30.
  it('becomes a reference to its object, which the task pins, once each', async () => {
    const [first, second, made] = [await upload(), await upload(), await output()];
    const input = { prompt: first.url, image_urls: [first.url, made.url, first.url], image: 'https://example.com/x' };

    const { input: stored, pins } = await storedOf(await create(input));

    const expected = [`darkroom:${first.id}`, `darkroom:${made.id}`, `darkroom:${first.id}`];
    assert.deepEqual(stored, { ...input, image_urls: expected });
    assert.equal(pins.length, 2);
    assert.ok(pins.some((key) => key.includes(first.id)) && pins.some((key) => key.startsWith('outputs/')));
    assert.ok(!pins.some((key) => key.includes(second.id)));
  });

  it('may have a query or another file name, which are ignored', async () => {
    const file = await upload();
    const renamed = file.url.replace(/[^/]+$/, 'something-else.png');
    for (const url of [`${file.url}?x=1`, renamed, `${file.url}#part`]) {
      const { input } = await storedOf(await create({ image_urls: [url] }));
      assert.deepEqual(input, { image_urls: [`darkroom:${file.id}`] }, url);
    }
  });

  it('is returned to its owner as a newly signed URL', async () => {
    const file = await upload();
    const answer = await create({ prompt: 'p', image_urls: [file.url] });
    const { input } = await storedOf(answer);

    const shown = presentInput(input as Record<string, unknown>, served.http.urlSigner);
    assert.equal(shown['prompt'], 'p');
    const [url = ''] = shown['image_urls'] as string[];
    assert.equal((await fetch(url)).status, 200);
    assert.deepEqual(Object.keys(shown), ['prompt', 'image_urls']);
  });

  // Proves C7-30.
  it('is rejected when it is altered, or signed by another key', async () => {
    const file = await upload();
    const altered = file.url.replace(/\.[A-Za-z0-9_-]{22}\//, `.${'A'.repeat(22)}/`);
    const strange = createUrlSigner({
      publicUrl: served.url,
      signingKey: `${SIGNING_KEY}, not`,
      lifetimeSeconds: 1800,
    }).sign({ outputId: file.id, fileName: 'x.png' }).url;
    for (const url of [altered, strange, `${served.url}/media/`, `${served.url}/media/v1.x/y`]) {
      const message = await rejectionMessage({ image_urls: [url] });
      assert.equal(message, 'invalid input: image_urls.0: not a URL of this service', url);
    }
  });

  // Proves C7-33.
  it('is rejected when it has expired, with how to get a new one', async () => {
    const [file, made] = [await upload(), await output()];
    try {
      aheadMs = 3_600_000;
      assert.equal(
        await rejectionMessage({ image_urls: ['https://example.com/x', made.url] }),
        'invalid input: image_urls.1: expired: read the task again for a fresh URL',
      );
      assert.equal(
        await rejectionMessage({ image_urls: [file.url] }),
        'invalid input: image_urls.0: expired: read the file again for a fresh URL',
      );
    } finally {
      aheadMs = 0;
    }
  });

  // Proves C7-30.
  it('is rejected when it is another account’s, deleted or unknown, with the same response', async () => {
    const strangers = await upload(await served.newAccount());
    const deleted = await upload();
    await account.client.send('DELETE', `/v1/files/${deleted.id}`);
    const sign = (outputId: string): string => served.http.urlSigner.sign({ outputId, fileName: 'x.png' }).url;
    const zeros = '0'.repeat(26);
    for (const url of [strangers.url, deleted.url, sign(`file_${zeros}`), sign(`out_${zeros}`), sign('other')]) {
      assert.equal(await rejectionMessage({ image_urls: [url] }), 'invalid input: image_urls.0: not found');
    }
  });

  it('is rejected in a field of another media kind', async () => {
    const file = await upload();
    assert.equal(
      await rejectionMessage({ video_url: file.url }),
      'invalid input: video_url: contentMediaType: got image/png, want video/*',
    );
  });

  it('is replayed by what was sent, even after it has expired', async () => {
    const file = await upload();
    const created = await create({ image_urls: [file.url] }, 'chain-replay');
    try {
      aheadMs = 3_600_000;
      const replayed = await create({ image_urls: [file.url] }, 'chain-replay');
      assert.equal(replayed.status, 200);
      assert.equal(replayed.body.data.taskId, created.body.data.taskId);
    } finally {
      aheadMs = 0;
    }
  });

  it('adds no statement to a create without references', async () => {
    served.room.forgetStatements();
    await create({ prompt: 'p', image_urls: ['https://example.com/x.png'] });
    assert.deepEqual(
      served.room.statements.filter((name) => /upload|output_objects/.test(name)),
      [],
    );
  });
});

describe('an external URL in an input', () => {
  it('is validated like every outgoing URL', async () => {
    for (const [url, problem] of [
      ['http://example.com/x.png', /^invalid input: image_urls\.0: must be https/],
      ['https://127.0.0.1/x.png', /^invalid input: image_urls\.0: 127\.0\.0\.1 is not a public address/],
      ['https://169.254.169.254/latest', /is not a public address/],
      ['https://user:pass@example.com/x', /must not contain user information/],
      ['https://example.com:8443/x', /port 8443 is not allowed/],
      ['file:///etc/passwd', /must be an absolute https URL/],
      ['/media/v1.x/y', /must be an absolute https URL/],
      ['', /must be an absolute https URL/],
      ['data:image/png;base64,AAAA', /image_urls\.0: data URLs are not taken here; upload the file/],
      [`https://example.com/${'x'.repeat(2_100)}`, /maxLength: got 2120, want 2048/],
      [`${served.url}/v1/account`, /is not a public address/],
      [`${served.url}/media/../v1/account`, /is not a public address/],
      [`${served.url.replace('http://', 'http://a@')}/media/x`, /must not contain user information/],
      [` ${served.url}/media/x`, /must not contain blanks/],
    ] as const) {
      assert.match(await rejectionMessage({ image_urls: [url] }), problem);
    }
    await storedOf(await create({ image_urls: ['https://example.com/x.png'] }));
  });

  it('may be a data URL only when the schema’s pattern allows it', async () => {
    const data = `data:image/png;base64,${image.toString('base64')}`;
    const { input } = await storedOf(await create({ image: data }));
    assert.deepEqual(input, { image: data });
    const refused = /^invalid input: video_url: data URLs are not taken here; upload the file/;
    assert.match(await rejectionMessage({ video_url: data.slice(0, 100) }), refused);
  });

  it('is never an internal reference: not in a media field, and not in any other', async () => {
    const strangers = await upload(await served.newAccount());
    const reference = `darkroom:${strangers.id}`;
    for (const input of [{ prompt: reference }, { image_urls: [reference] }, { video_url: reference }]) {
      assert.match(await rejectionMessage(input), /must not be a reference$/);
    }
    assert.match(await rejectionMessage({ image_urls: ['darkroom:anything'] }), /must be an absolute https URL/);
    await storedOf(await create({ prompt: 'darkroom: a room for developing' }));
    await storedOf(await create({ prompt: `${reference} ` }));
  });
});

describe('the URL by which a provider fetches an input', () => {
  const urlFor = (id: string): string => served.http.urlSigner.sign({ outputId: `input-${id}`, fileName: 'x.png' }).url;

  // Proves C7-31.
  it('opens an upload that its owner has deleted, as long as a task needs it', async () => {
    const file = await upload();
    const { body } = await create({ image_urls: [file.url] });
    await account.client.send('DELETE', `/v1/files/${file.id}`);
    assert.equal((await fetch(file.url)).status, 404);
    assert.equal((await fetch(urlFor(file.id))).status, 200);

    await account.client.send('POST', `/v1/tasks/${body.data.taskId}/cancel`);
    assert.equal((await account.client.get(body.data.taskId)).body.data.status, 'fail');
    assert.equal((await fetch(urlFor(file.id))).status, 404);
  });

  it('is not accepted as an input of another account', async () => {
    const file = await upload();
    assert.equal(await rejectionMessage({ image_urls: [urlFor(file.id)] }), 'invalid input: image_urls.0: not found');
  });
});
