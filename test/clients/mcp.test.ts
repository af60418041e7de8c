/** The tools as a language model's client uses them, both over stdio and over HTTP, against a whole Darkroom. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createKey } from '../../src/accounts/keys.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { WAYS, connectMcp, jsonOf, taskIdIn } from './mcp-connection.ts';
import type { McpConnection } from './mcp-connection.ts';
import { MAX_EVENT_BYTES, MAX_INLINE_BYTES, inlineBytes, imagesIn } from './mcp-images.ts';

const SCENE = { model: 'darkroom/scene', input: { prompt: 'a lighthouse at sunset', resolution: '1k' } };

let outside: DarkroomWithUpstreams;
before(async () => {
  outside = await startDarkroomWithUpstreams();
});
after(() => outside.stop());

for (const way of WAYS) {
  describe(`the tools over ${way}`, () => {
    let account: TestAccount;
    let mcp: McpConnection;
    before(async () => {
      account = await outside.darkroom.createAccount();
      mcp = await connectMcp(way, outside.darkroom.url, account.client.key);
    });
    after(() => mcp.close());

    const slow = { model: 'test/tasks', input: { prompt: 'a boat [slow 600000]' } };

    it('are listed with strict schemas, descriptions and hints', async () => {
      const { tools } = await mcp.client.listTools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['list_models', 'get_model', 'estimate', 'generate', 'get_task', 'cancel_task', 'list_tasks', 'text'],
      );
      for (const { name, description = '', inputSchema, annotations } of tools) {
        assert.equal((inputSchema as { additionalProperties?: unknown }).additionalProperties, false, name);
        assert.ok(description.length > 50, name);
        assert.equal(annotations?.readOnlyHint, !['generate', 'cancel_task', 'text'].includes(name), name);
        for (const [field, schema] of Object.entries(inputSchema.properties ?? {})) {
          assert.ok((schema as { description?: string }).description, `${name} ${field}`);
        }
      }
    });

    it('list the models of one modality, and describe one in full', async () => {
      const all = jsonOf<{ models: { id: string; modality: string }[] }>(await mcp.call('list_models')).models;
      const videos = jsonOf<{ models: { id: string }[] }>(await mcp.call('list_models', { modality: 'video' })).models;
      const expected = all.filter(({ modality }) => modality === 'video').map(({ id }) => id);
      assert.ok(expected.length > 0 && expected.length < all.length);
      assert.deepEqual(
        videos.map(({ id }) => id),
        expected,
      );

      const model = jsonOf<Record<string, unknown>>(await mcp.call('get_model', { model: 'darkroom/scene' }));
      assert.ok(model['input_schema'] && model['pricing'] && Array.isArray(model['examples']));
      const unknown = await mcp.call('get_model', { model: 'darkroom/none' });
      assert.equal(unknown.isError, true);
      assert.match(unknown.text, /^NOT_FOUND: no model is called "darkroom\/none"/);
    });

    it('return models only, whatever a model is called', async () => {
      const names = [
        '../account',
        '../account/webhook-key',
        '..',
        '.',
        'a/../../account',
        '../../healthz',
        '%2e%2e/account',
      ];
      for (const model of names) {
        const answer = await mcp.call('get_model', { model });
        assert.equal(answer.isError, true, model);
        assert.match(answer.text, /^NOT_FOUND: (?:not found|no model is called)/, model);
      }
    });

    it('return a price, and all validation errors of an input', async () => {
      const right = jsonOf<{ maxCost: string; errors: unknown[] }>(await mcp.call('estimate', SCENE));
      assert.match(right.maxCost, /^0\.\d+$/);
      assert.deepEqual(right.errors, []);
      const input = { resolution: 'huge', other: 1 };
      const wrong = jsonOf<{ maxCost: null; errors: string[] }>(await mcp.call('estimate', { ...SCENE, input }));
      assert.ok(wrong.errors.length >= 3, wrong.errors.join('; '));
    });

    it('create an image: as a link to the original, and as a small copy', async () => {
      const made = await mcp.call('generate', { ...SCENE, wait_seconds: 60 });
      let answer = made;
      while (!/"status": ?"(success|fail)"/.test(answer.text)) {
        answer = await mcp.call('get_task', { task_id: taskIdIn(made), wait_seconds: 60 });
      }
      const task = jsonOf<{ output: { url: string; sha256: string; mimeType: string; sizeBytes: number }[] }>(answer);
      const [output] = task.output;
      assert.ok(output);
      const link = answer.content.find(({ type }) => type === 'resource_link');
      assert.ok(link?.type === 'resource_link');
      assert.deepEqual([link.uri, link.mimeType], [output.url, output.mimeType]);
      const bytes = Buffer.from(await (await fetch(link.uri)).arrayBuffer());
      assert.equal(createHash('sha256').update(bytes).digest('hex'), output.sha256);

      assert.ok(output.sizeBytes * (4 / 3) > MAX_EVENT_BYTES, 'the default image is too large for one event');
      assert.equal(imagesIn(answer).length, 1);
      assert.ok(inlineBytes(answer) <= MAX_INLINE_BYTES, `${inlineBytes(answer)}`);
      assert.ok(Buffer.byteLength(JSON.stringify(answer.content)) < MAX_EVENT_BYTES);
    });

    it('return a small image itself', async () => {
      const made = await mcp.call('generate', { model: 'test/tasks', input: { prompt: 'a boat' }, wait_seconds: 0 });
      const [output] = (await account.client.waitForTerminal(taskIdIn(made))).output ?? [];
      assert.ok(output && output.sizeBytes <= 150_000, `${output?.sizeBytes}`);
      const { content } = await mcp.call('get_task', { task_id: taskIdIn(made) });
      const image = content.find(({ type }) => type === 'image');
      assert.ok(image?.type === 'image');
      assert.equal(image.mimeType, output.mimeType);
      assert.equal(createHash('sha256').update(Buffer.from(image.data, 'base64')).digest('hex'), output.sha256);
    });

    it('return a failed task as an error, in the words of the API', async () => {
      const input = { prompt: 'a boat [fail]' };
      const made = await mcp.call('generate', { model: 'test/tasks', input, wait_seconds: 60 });
      const { error } = await account.client.waitForTerminal(taskIdIn(made));
      assert.ok(error);
      const answer = made.text.includes('"fail"')
        ? made
        : await mcp.call('get_task', { task_id: taskIdIn(made), wait_seconds: 60 });
      assert.ok(answer.text.startsWith(`${error.code}: ${error.message}`), answer.text);
      assert.equal(made.isError, made.text.includes('"fail"'));
    });

    it('create one task when the idempotency key is repeated, and reject another input', async () => {
      const args = { ...SCENE, wait_seconds: 0, idempotency_key: `again-${way}` };
      const [first, second] = [await mcp.call('generate', args), await mcp.call('generate', args)];
      assert.equal(taskIdIn(first), taskIdIn(second));
      const other = await mcp.call('generate', { ...args, input: { prompt: 'something else' } });
      assert.equal(other.isError, true);
      assert.match(other.text, /^IDEMPOTENCY_KEY_MISMATCH: /);
    });

    it('report progress while they wait, and that a task was cancelled meanwhile', async () => {
      const seen: { progress: number; total?: number | undefined; message?: string | undefined }[] = [];
      const onprogress = (progress: (typeof seen)[number]): void => void seen.push(progress);
      const waiting = mcp.call('generate', { ...slow, wait_seconds: 60 }, { onprogress });
      const listed = async (): Promise<{ taskId: string }[]> =>
        jsonOf<{ tasks: { taskId: string }[] }>(await mcp.call('list_tasks', { status: ['handling'], size: 1 })).tasks;
      await waitFor('the task is handled and progress was reported twice', async () => {
        return seen.length >= 2 && (await listed()).length === 1;
      });
      const [task] = await listed();
      assert.ok(task);
      await mcp.call('cancel_task', { task_id: task.taskId });
      const answer = await waiting;
      await account.client.waitForTerminal(task.taskId);
      const last = await mcp.call('get_task', { task_id: task.taskId });
      assert.match(last.text, /^TASK_CANCELLED: /);
      assert.equal(taskIdIn(answer), task.taskId);

      assert.match(seen.map(({ message }) => message).join(), /^(queued|handling)/);
      for (const [index, { progress, total }] of seen.entries()) {
        // A longer wait is shortened: clients give up a call after 60 s.
        assert.equal(total, 45);
        assert.ok(index === 0 || progress > (seen[index - 1]?.progress ?? 0), 'progress goes on');
      }
    });

    it('stop waiting when the client cancels the call; the task continues and can be found', async () => {
      const given = new AbortController();
      const asked = mcp.call('generate', { ...slow, wait_seconds: 60 }, { signal: given.signal });
      const gone = assert.rejects(asked);
      const find = async (): Promise<string | undefined> => {
        const query = { status: ['queued', 'handling'], model: 'test/tasks' };
        return jsonOf<{ tasks: { taskId: string }[] }>(await mcp.call('list_tasks', query)).tasks[0]?.taskId;
      };
      await waitFor('there is a task', async () => (await find()) !== undefined);
      given.abort();
      await gone;

      const taskId = await find();
      assert.ok(taskId);
      const cancelled = await mcp.call('cancel_task', { task_id: taskId });
      assert.equal(cancelled.isError, false, cancelled.text);
      assert.equal((await account.client.waitForTerminal(taskId)).error?.code, 'TASK_CANCELLED');
    });

    it('reject unknown arguments by name, and pass on errors of the API', async () => {
      const wrong: [string, Record<string, unknown>, RegExp][] = [
        ['generate', { ...SCENE, wait_seconds: 61 }, /wait_seconds/],
        ['generate', { ...SCENE, other: 1 }, /other/],
        ['generate', { ...SCENE, input: { prompt: 1 } }, /^INVALID_REQUEST: .*prompt/],
        ['generate', { model: 'darkroom/none', input: {} }, /^MODEL_UNAVAILABLE: /],
        ['get_task', { task_id: '../account' }, /task_id/],
        ['text', { model: 'darkroom/conformance-text' }, /either `prompt` or `messages`/],
      ];
      for (const [name, args, words] of wrong) {
        const { isError, text } = await mcp.call(name, args);
        assert.equal(isError, true, name);
        assert.match(text, words);
      }
    });

    it('query a text model', async () => {
      const model = 'darkroom/conformance-text';
      const asked = await mcp.call('text', { model, prompt: 'What is 17 * 3?', max_tokens: 2_000 });
      assert.equal(asked.isError, false, asked.text);
      assert.match(asked.text, /51/);
      assert.match(asked.text, /"usage"/);
      const messages = [{ role: 'user', content: 'What is 17 * 3?' }];
      assert.match((await mcp.call('text', { model, messages })).text, /51/);
    });

    it('can do what the scopes of their key allow', async () => {
      const { database } = outside.darkroom.testDatabase;
      const key = await createKey(database, account.id, { name: 'reader', scopes: ['models:read'] });
      const reader = await connectMcp(way, outside.darkroom.url, key.secret);
      try {
        assert.equal((await reader.call('list_models')).isError, false);
        for (const [name, args, scope] of [
          ['generate', SCENE, 'tasks:write'],
          ['list_tasks', {}, 'tasks:read'],
        ] as const) {
          const { isError, text } = await reader.call(name, args);
          assert.equal(isError, true);
          assert.match(text, new RegExp(`^FORBIDDEN: .*${scope}`));
        }
      } finally {
        await reader.close();
      }
    });
  });
}
