/** Tasks as a client of the API makes them: one of each modality, inputs and outputs, callbacks, files and batches. */
import assert from 'node:assert/strict';
import type { Check, CheckContext } from './checks.ts';
import type { ContainerClient } from './client.ts';
import { RECEIVER, TRANSCRIPT, callbacksOf, verifyCallback } from './receiver.ts';

const SCENE = { model: 'darkroom/scene', input: { prompt: 'a lighthouse at dusk' } };
const SPEECH = { model: 'darkroom/speech', input: { text: 'The night train departs.', voice: 'slt' } };

/** A small one for each modality. */
const MEDIA: readonly Readonly<Record<string, unknown>>[] = [
  SCENE,
  { model: 'darkroom/motion', input: { prompt: 'a forest', duration: 1, resolution: '480p', draft: true } },
  SPEECH,
  { model: 'darkroom/sound', input: { prompt: 'rain on a tin roof', duration: 3 } },
  { model: 'darkroom/instrumental', input: { prompt: 'Calm acoustic guitar, 80 bpm', duration: 10 } },
];

interface UploadedFile {
  readonly id: string;
  readonly url: string;
  readonly mimeType: string;
}

interface Batch {
  readonly id: string;
  readonly status: string;
  readonly request_counts: unknown;
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
}

export const MEDIA_CHECKS = MEDIA.map((body): Check<Pick<CheckContext, 'client'>> => ({
  name: `a task of ${String(body['model'])} succeeds, and its output is downloaded by its signed URL`,
  async check({ client }) {
    const [output] = (await client.makeMedia(body)).output ?? [];
    return `${output?.mimeType} of ${output?.sizeBytes} bytes`;
  },
}));

export const TASK_CHECKS: readonly Check[] = [
  ...MEDIA_CHECKS,
  {
    name: 'a task of openai_compatible/transcription writes down what another task said',
    async check({ client }) {
      const [spoken] = (await client.makeMedia(SPEECH)).output ?? [];
      const input = { audio_url: spoken?.url, formats: ['text', 'vtt'] };
      const task = await client.makeMedia({ model: 'openai_compatible/transcription', input });
      const texts = await Promise.all((task.output ?? []).map(({ url }) => client.send('GET', url)));
      assert.equal(texts[0]?.text, `${TRANSCRIPT}\n`);
      assert.match(texts[1]?.text ?? '', /^WEBVTT/);
      return undefined;
    },
  },
  {
    name: 'a task works on the output of another',
    async check({ client }) {
      const [image] = (await client.makeMedia(SCENE)).output ?? [];
      await client.makeMedia({ model: 'darkroom/edit', input: { prompt: 'make it night', image_urls: [image?.url] } });
      return undefined;
    },
  },
  {
    name: 'a signed URL serves ranges, and none that was altered',
    async check({ client }) {
      const [output] = (await client.makeMedia(SCENE)).output ?? [];
      assert.ok(output !== undefined);
      const part = await client.send('GET', output.url, { headers: { range: 'bytes=0-9' } });
      assert.deepEqual([part.status, part.bytes.length], [206, 10]);
      // The first character of the signature, which is the last part before the name of the file.
      const altered = output.url.replace(/(?<=\.)[\w-](?=[\w-]+\/[^/]+$)/, (letter) => (letter === 'A' ? 'B' : 'A'));
      assert.notEqual(altered, output.url);
      assert.equal((await client.send('GET', altered)).status, 403, altered);
      return undefined;
    },
  },
  {
    name: 'a callback arrives, and both of its signatures are right',
    async check({ client, engine }) {
      const task = await client.makeMedia({ ...SCENE, callback: { url: RECEIVER.url } });
      for (const callback of await callbacksOf(engine, task.taskId)) verifyCallback(callback);
      await client.waitFor(task.taskId, ({ callback }) => callback?.state === 'delivered');
      return undefined;
    },
  },
  {
    name: 'a file is uploaded, read again, used by a task and deleted',
    async check({ client }) {
      const bytes = await client.download(await client.makeMedia(SCENE));
      const form = { body: bytes, headers: { 'content-type': 'image/png' } };
      const { data: file } = JSON.parse((await client.askBytes('POST', '/v1/files', form)).text) as {
        data: UploadedFile;
      };
      assert.ok((await client.send('GET', file.url)).bytes.equals(bytes));
      assert.ok((await client.askBytes('GET', `/v1/files/${file.id}/content`)).bytes.equals(bytes));
      await client.makeMedia({ model: 'darkroom/edit', input: { prompt: 'make it night', image_urls: [file.url] } });
      await client.ask('DELETE', `/v1/files/${file.id}`);
      assert.equal((await client.send('GET', file.url)).status, 404);
      return file.mimeType;
    },
  },
  {
    name: 'a batch of two tasks and a wrong line is completed, with files of results',
    async check({ client }) {
      const lines = [SCENE, SPEECH, { model: 'darkroom/none', input: {} }].map((body, index) =>
        JSON.stringify({ custom_id: `line-${index}`, method: 'POST', url: '/v1/tasks', body }),
      );
      const file = await client.upload('batch', Buffer.from(lines.join('\n')), 'lines.jsonl');
      const created = { input_file_id: file, endpoint: '/v1/tasks', completion_window: '24h' };
      const { id } = (await client.ask('POST', '/v1/batches', created)) as Batch;
      const batch = await client.readUntil<Batch>(`/v1/batches/${id}`, ({ status }) => status === 'completed');
      assert.deepEqual(batch.request_counts, { total: 3, completed: 2, failed: 1 });

      const results = await resultsOf(client, batch.output_file_id);
      assert.deepEqual(
        results.map(({ custom_id: customId }) => customId),
        ['line-0', 'line-1'],
      );
      for (const { response } of results) {
        await client.download(await client.readPatiently(response.body.data.taskId));
      }
      const [wrong] = await resultsOf(client, batch.error_file_id);
      assert.deepEqual([wrong?.custom_id, wrong?.response.status_code], ['line-2', 400]);
      return undefined;
    },
  },
];

interface ResultLine {
  readonly custom_id: string;
  readonly response: {
    readonly status_code: number;
    /** The task, if there is one. */
    readonly body: { readonly data: { readonly taskId: string } };
  };
}

async function resultsOf(client: ContainerClient, fileId: string | null): Promise<readonly ResultLine[]> {
  const { text } = await client.askBytes('GET', `/v1/files/${fileId}/content`);
  const lines = text.trim().split('\n');
  return lines.map((line) => JSON.parse(line) as ResultLine);
}
