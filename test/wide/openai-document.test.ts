/**
 * Our responses, and the events of media streams, validated against OpenAI's own document. Those of batches are in
 * `openai-batches-document.test.ts`, because batches need workers.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { eventsOf } from '../http/media-calls.ts';
import { raw } from '../http/raw-request.ts';
import type { RawAnswer } from '../http/raw-request.ts';
import { serveApp } from '../http/serve.ts';
import {
  TRANSCRIPT,
  doneVideo,
  editForm,
  fileForm,
  imageBody,
  partForm,
  transcriptionForm,
  videoBody,
} from '../http/route-requests.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { OPENAI_DOCUMENT, olderResponse, openAiSchemas } from './openai-schemas.ts';
import { whyNoPackage } from './python-environment.ts';

const SCHEMAS = [
  'OpenAIFile',
  'ListFilesResponse',
  'DeleteFileResponse',
  'Upload',
  'UploadPart',
  'CreateChatCompletionResponse',
  'Response',
  'ImagesResponse',
  'ErrorResponse',
  'CreateTranscriptionResponseJson',
  'CreateTranscriptionResponseVerboseJson',
  'CreateTranslationResponseJson',
  'CreateTranslationResponseVerboseJson',
  'ImageGenStreamEvent',
  'ImageEditStreamEvent',
  'CreateTranscriptionResponseStreamEvent',
  'EditImageBodyJsonParam',
  'VideoResource',
  'VideoListResource',
  'DeletedVideoResource',
] as const;
type SchemaName = (typeof SCHEMAS)[number];

const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
};
const ASK = 'What is the weather in Paris?';

/** What is added to a plain request, by what it tests. */
const CHATS: Readonly<Record<string, object>> = {
  'a plain one': {},
  'one with log probabilities': { logprobs: true, top_logprobs: 2 },
  'several at once': { n: 2, temperature: 0.8 },
  'one that was cut off': { max_completion_tokens: 1 },
  'one with thoughts': { reasoning_effort: 'medium' },
  'one with calls': { tools: [{ type: 'function', function: { name: 'get_weather', parameters: WEATHER } }] },
  'one by a schema': {
    response_format: { type: 'json_schema', json_schema: { name: 'p', schema: PERSON, strict: true } },
  },
};
const RESPONSES: Readonly<Record<string, object>> = {
  'a plain one': {},
  'one with log probabilities': { include: ['message.output_text.logprobs'], top_logprobs: 2 },
  'one that was cut off': { max_output_tokens: 1 },
  'one in the background': { background: true },
  'one with thoughts': { reasoning: { effort: 'medium', summary: 'auto' } },
  'one with a call': { tools: [{ type: 'function', name: 'get_weather', parameters: WEATHER, strict: true }] },
  'one by a schema': { text: { format: { type: 'json_schema', name: 'p', schema: PERSON, strict: true } } },
  'one with much said about it': { instructions: 'Be brief.', metadata: { a: 'b' }, user: 'me', store: false },
};

/** The body of a request that is no JSON. */
interface Form {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}
let forms = 0;

describe("OpenAI's document", { skip: whyNoPackage(OPENAI_DOCUMENT) }, () => {
  let served: ServedApp;
  let key: string;
  let account: ServedAccount;
  let validators: Readonly<Record<SchemaName, ValidateFunction>>;
  before(async () => {
    served = await serveApp();
    account = await served.newAccount();
    ({ key } = account.client);
    const compile = await openAiSchemas();
    const compiled = SCHEMAS.map((name) => [name, compile(name)] as const);
    validators = Object.fromEntries(compiled) as Record<SchemaName, ValidateFunction>;
  });
  after(() => served.close());

  function assertValid(name: SchemaName, value: unknown): void {
    const validate = validators[name];
    assert.ok(validate(value), `${name}: ${JSON.stringify([value, validate.errors?.slice(0, 5)])}`);
  }

  async function check(name: SchemaName, path: string, body: object): Promise<void> {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const answer = await raw(served.url, 'POST', path, headers, Buffer.from(JSON.stringify(body)));
    assert.equal(answer.status, 200, answer.text);
    const checked = olderResponse(JSON.parse(answer.text) as object);
    // As in the document's examples of responses that have not ended.
    if (checked['status'] === 'queued' && checked['usage'] === null) delete checked['usage'];
    assertValid(name, checked);
  }

  it('rejects what is not one of its responses', () => {
    for (const validate of Object.values(validators)) assert.equal(validate({ id: 'x' }), false);
  });

  for (const [what, changes] of Object.entries(CHATS)) {
    it(`accepts our chat completions: ${what}`, () =>
      check('CreateChatCompletionResponse', '/v1/chat/completions', {
        model: 'acme/text',
        messages: [{ role: 'user', content: ASK }],
        ...changes,
      }));
  }

  for (const [what, changes] of Object.entries(RESPONSES)) {
    it(`accepts our responses: ${what}`, () =>
      check('Response', '/v1/responses', { model: 'acme/text', input: ASK, ...changes }));
  }

  for (const responseFormat of ['b64_json', 'url']) {
    it(`accepts our images: ${responseFormat}`, async () => {
      const sent = imageBody({ size: '1024x1024', response_format: responseFormat });
      const headers = { 'Idempotency-Key': `images-as-${responseFormat}` };
      const path = '/v1/images/generations';
      const created = await account.client.send('POST', path, sent, { ...headers, Prefer: 'respond-async' });
      const bytes = Buffer.from('an image');
      const facts = { type: 'image', mimeType: 'image/png', width: 1024, height: 1024 };
      await served.succeedWith(created.headers.get('x-darkroom-task-id') ?? '', [{ ...facts, bytes }]);
      const { status, body } = await account.client.send('POST', path, sent, headers);

      assert.equal(status, 200, JSON.stringify(body));
      assertValid('ImagesResponse', body);
    });
  }

  /** The response to a form whose task has ended. @param made the file of the task. */
  async function answerToForm(path: string, form: Form, made: Buffer, mimeType: string): Promise<RawAnswer> {
    const key = `form-${++forms}`;
    const headers = { ...form.headers, Authorization: `Bearer ${account.client.key}`, 'Idempotency-Key': key };
    const created = await raw(served.url, 'POST', path, { ...headers, Prefer: 'respond-async' }, form.body);
    const taskId = String(created.headers['x-darkroom-task-id']);
    const size = mimeType === 'image/png' ? { width: 1024, height: 1024 } : {};
    await served.succeedWith(taskId, [{ type: 'image', bytes: made, mimeType, ...size }]);
    const answer = await raw(served.url, 'POST', path, headers, form.body);
    assert.equal(answer.status, 200, answer.text);
    return answer;
  }

  const IMAGE = Buffer.from('an image');

  it('accepts our edits, and we accept its example of a request as JSON', async () => {
    const form = await editForm();
    const answer = await answerToForm('/v1/images/edits', form, IMAGE, 'image/png');
    assertValid('ImagesResponse', JSON.parse(answer.text));

    const body = {
      model: 'acme/compatible-edit',
      prompt: 'Add a watercolor effect to this image',
      images: [{ image_url: 'https://example.com/source-image.png' }],
      mask: { image_url: 'https://example.com/mask.png' },
      n: 1,
      quality: 'auto',
      size: 'auto',
      input_fidelity: 'low',
      moderation: 'auto',
      background: 'auto',
      output_format: 'png',
      output_compression: 100,
      stream: false,
      user: 'user-1234',
    };
    assertValid('EditImageBodyJsonParam', body);
    const { status } = await account.client.send('POST', '/v1/images/edits', body, { Prefer: 'respond-async' });
    assert.equal(status, 202);
  });

  it('accepts the events of our streams of images and transcripts', async () => {
    const json = { 'Content-Type': 'application/json' };
    const generation = { headers: json, body: Buffer.from(JSON.stringify(imageBody({ stream: true }))) };
    const streams = [
      ['/v1/images/generations', 'ImageGenStreamEvent', generation],
      ['/v1/images/edits', 'ImageEditStreamEvent', await editForm({ stream: 'true' })],
      [
        '/v1/audio/transcriptions',
        'CreateTranscriptionResponseStreamEvent',
        await transcriptionForm({ stream: 'true' }),
      ],
    ] as const;
    for (const [path, name, form] of streams) {
      const isImage = path.startsWith('/v1/images');
      const made = isImage ? IMAGE : Buffer.from(TRANSCRIPT);
      const events = eventsOf(await answerToForm(path, form, made, isImage ? 'image/png' : 'application/json'));

      assert.ok(events.length > 0);
      for (const { data } of events) assertValid(name, data);
    }
  });

  for (const [what, format, name] of [
    ['translations', 'json', 'CreateTranslationResponseJson'],
    ['translations', 'verbose_json', 'CreateTranslationResponseVerboseJson'],
    ['transcriptions', 'json', 'CreateTranscriptionResponseJson'],
    ['transcriptions', 'verbose_json', 'CreateTranscriptionResponseVerboseJson'],
  ] as const) {
    it(`accepts our ${what}: ${format}`, async () => {
      const form = await transcriptionForm({ response_format: format });
      const answer = await answerToForm(`/v1/audio/${what}`, form, Buffer.from(TRANSCRIPT), 'application/json');

      assertValid(name, JSON.parse(answer.text));
    });
  }

  it('accepts our files and uploads', async () => {
    const headers = { Authorization: `Bearer ${key}` };
    const accept = (name: SchemaName, { status, text }: RawAnswer): { id: string } => {
      assert.equal(status, 200, text);
      const answered = JSON.parse(text) as { id: string };
      assertValid(name, answered);
      return answered;
    };
    const post = async (path: string, sent: object): Promise<RawAnswer> =>
      raw(served.url, 'POST', path, { ...headers, 'Content-Type': 'application/json' }, JSON.stringify(sent));
    const form = await fileForm({ purpose: 'batch' }, '{}', 'lines.jsonl');
    const file = await raw(served.url, 'POST', '/v1/files', { ...headers, ...form.headers }, form.body);
    const { id } = accept('OpenAIFile', file);
    accept('OpenAIFile', await raw(served.url, 'GET', `/v1/files/${id}`, headers));
    accept('ListFilesResponse', await raw(served.url, 'GET', '/v1/files', headers));
    accept('DeleteFileResponse', await raw(served.url, 'DELETE', `/v1/files/${id}`, headers));

    const described = { filename: 'a.jsonl', purpose: 'batch', bytes: 2, mime_type: 'application/jsonl' };
    const upload = accept('Upload', await post('/v1/uploads', described));
    const part = await partForm('{}');
    const path = `/v1/uploads/${upload.id}`;
    const added = await raw(served.url, 'POST', `${path}/parts`, { ...headers, ...part.headers }, part.body);
    const { id: partId } = accept('UploadPart', added);
    accept('Upload', await post(`${path}/complete`, { part_ids: [partId] }));
  });

  it('accepts our videos: queued, completed, remixed, failed, listed and deleted', async () => {
    const video = await served.newAccount();
    const accept = async (name: SchemaName, method: string, path: string, sent?: object) => {
      const { status, body } = await video.client.send(method, path, sent);
      assert.equal(status, 200, JSON.stringify(body));
      assertValid(name, body);
      return body as unknown as { readonly id: string; readonly status: string };
    };
    const completed = await doneVideo({ served, receiverUrl: '' }, video);
    const { id: queued } = await accept('VideoResource', 'POST', '/v1/videos', videoBody({ seconds: '4' }));
    await accept('VideoResource', 'GET', `/v1/videos/${completed}`);
    await accept('VideoResource', 'POST', `/v1/videos/${completed}/remix`, { prompt: 'a wolf' });
    await video.client.send('POST', `/v1/tasks/${queued}/cancel`);
    assert.equal((await accept('VideoResource', 'GET', `/v1/videos/${queued}`)).status, 'failed');
    await accept('VideoListResource', 'GET', '/v1/videos?limit=2');
    await accept('DeletedVideoResource', 'DELETE', `/v1/videos/${queued}`);
  });

  it('accepts our errors of images, speech and videos', async () => {
    for (const path of ['/v1/images/generations', '/v1/images/edits', '/v1/audio/speech', '/v1/videos']) {
      const { status, body } = await account.client.send('POST', path, { model: 'acme/none' });

      assert.equal(status, 400);
      assertValid('ErrorResponse', body);
    }
  });
});
