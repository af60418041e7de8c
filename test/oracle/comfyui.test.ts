/**
 * ComfyUI, whose requests and answers are those of its own server (`server.py`) and of
 * https://docs.comfy.org/development/comfyui-server/comms_routes. Its scripts in the repository show the same calls.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import type { Recorded } from '../providers/http/recorder.ts';
import { answering, cancelled, formOf, polled, reasonOf, submitted } from './answers.ts';
import type { Scripted } from './bench.ts';
import { TASK_ID, comparable, mapped } from './oracle.ts';

const ID = '2b4f1d3e-6c11-4d8e-8a55-0f1c9f6f0a11';
const COMFY = { model: 'comfyui/sdxl', input: { prompt: 'a boat' } };
const call = { signal: new AbortController().signal };

const saved = (filename: string, subfolder = '') => ({ filename, subfolder, type: 'output' });
const history = (status_str: string, outputs: object = {}): Scripted => ({
  json: { [ID]: { prompt: [1, ID, {}, {}, []], outputs, status: { status_str, completed: true, messages: [] } } },
});
const ACCEPTED = { json: { prompt_id: ID, number: 3, node_errors: {} } };

/** A node of a workflow. */
interface WorkflowNode {
  readonly class_type: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

async function workflowOf(input: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, WorkflowNode>>> {
  const prompts: unknown[] = [];
  await withRecorder(answering(ACCEPTED), async ({ origin, requests }) => {
    await withScratch(async ({ call: submit }) => {
      const { provider, requestFor } = mapped(COMFY.model, origin);
      assert.deepEqual(await provider.submit(requestFor(input), submit), { kind: 'job', jobId: ID });
      const [recorded] = requests;
      assert.ok(recorded !== undefined);
      const { method, path, headers, body } = comparable(recorded);
      assert.equal(`${method} ${path}`, 'POST /prompt');
      assert.equal(headers['content-type'], 'application/json');
      assert.deepEqual(Object.keys(body as object), ['prompt', 'client_id']);
      prompts.push((body as { prompt: unknown }).prompt);
    });
  });
  return prompts[0] as Readonly<Record<string, WorkflowNode>>;
}

/** How many outputs the nodes of ComfyUI have (`RETURN_TYPES` in nodes.py). */
const OUTPUTS: Readonly<Record<string, number>> = {
  CheckpointLoaderSimple: 3,
  CLIPTextEncode: 1,
  EmptyLatentImage: 1,
  KSampler: 1,
  VAEDecode: 1,
  LoadImage: 2,
  ImageScale: 1,
  VAEEncode: 1,
  RepeatLatentBatch: 1,
};

/** Asserts that every link of a workflow leads to an output that its node has. */
function assertLinked(workflow: Readonly<Record<string, WorkflowNode>>): void {
  for (const { inputs } of Object.values(workflow)) {
    for (const link of Object.values(inputs).filter((value) => Array.isArray(value))) {
      const [node, output] = link as [string, number];
      assert.ok(output < (OUTPUTS[workflow[node]?.class_type ?? ''] ?? 0), node);
    }
  }
}

describe('the mapping of ComfyUI', () => {
  it('submits a workflow whose links lead to the outputs of its nodes', async () => {
    const workflow = await workflowOf({
      prompt: 'a boat',
      negative_prompt: 'people',
      aspect_ratio: '16:9',
      n: 2,
      steps: 30,
      cfg_scale: 5.5,
      seed: 7,
    });

    assertLinked(workflow);
    assert.deepEqual(workflow['checkpoint']?.inputs, { ckpt_name: 'sd_xl_base_1.0.safetensors' });
    assert.equal(workflow['positive']?.inputs['text'], 'a boat');
    assert.equal(workflow['negative']?.inputs['text'], 'people');
    assert.deepEqual(workflow['canvas']?.inputs, { width: 1344, height: 768, batch_size: 2 });
    assert.deepEqual(workflow['sampler']?.inputs, {
      model: ['checkpoint', 0],
      positive: ['positive', 0],
      negative: ['negative', 0],
      latent_image: ['canvas', 0],
      seed: 7,
      steps: 30,
      cfg: 5.5,
      sampler_name: 'dpmpp_2m',
      scheduler: 'karras',
      denoise: 1,
    });
  });

  it('uploads an image first, and loads it by the name that the server gave it', async () => {
    await withScratch(async ({ call: submit, inputFile }) => {
      const upload = { json: { name: 'image_url (1).png', subfolder: `darkroom/${TASK_ID}`, type: 'input' } };
      const script = ({ url }: Recorded): Scripted => (url === '/upload/image' ? upload : ACCEPTED);
      await withRecorder(answering(script), async ({ origin, requests }) => {
        const { provider, requestFor } = mapped('comfyui/sdxl-image-to-image', origin);
        const input = { prompt: 'the same in winter', image_url: 'https://example.com/a.png', strength: 0.4, n: 2 };
        const media = new Map([['image_url', await inputFile('image/png', Buffer.from('a house'))]]);

        assert.deepEqual(await provider.submit(requestFor(input, media), submit), { kind: 'job', jobId: ID });

        const [uploaded, submitted] = requests;
        assert.equal(`${uploaded?.method} ${uploaded?.url}`, 'POST /upload/image');
        // The parts that `image_upload` of server.py reads; `type` is `input` by default.
        assert.deepEqual(formOf(uploaded), {
          image: ['image/png: a house'],
          subfolder: [`darkroom/${TASK_ID}`],
          overwrite: ['true'],
        });
        const { prompt } = JSON.parse(String(submitted?.body)) as { prompt: Record<string, WorkflowNode> };
        assertLinked(prompt);
        // `LoadImage` takes a path below the directory of inputs.
        assert.deepEqual(prompt['image']?.inputs, { image: `darkroom/${TASK_ID}/image_url (1).png` });
        assert.deepEqual(prompt['canvas'], {
          class_type: 'RepeatLatentBatch',
          inputs: { samples: ['encoder', 0], amount: 2 },
        });
        assert.equal(prompt['sampler']?.inputs['denoise'], 0.4);
      });
    });
  });

  it('takes the seed from the task where the input has none, so that a repeated submit is the same', async () => {
    const [one, other] = [await workflowOf({ prompt: 'a boat' }), await workflowOf({ prompt: 'a boat' })];
    assert.ok(Number.isInteger(one['sampler']?.inputs['seed']));
    assert.deepEqual(one, other);
  });

  it('takes the saved images from the history, and none that is temporary', async () => {
    const images = [
      saved('darkroom_00001_.png'),
      saved('a b&c.png', 'sub/folder'),
      { ...saved('t.png'), type: 'temp' },
    ];
    await withRecorder(answering(history('success', { save: { images } })), async ({ origin, requests }) => {
      const { provider, requestFor } = mapped(COMFY.model, origin);
      assert.deepEqual(await provider.poll(requestFor(COMFY.input), ID, call), {
        kind: 'done',
        files: [
          { from: 'url', url: `${origin}/view?filename=darkroom_00001_.png&subfolder=&type=output` },
          { from: 'url', url: `${origin}/view?filename=a%20b%26c.png&subfolder=sub%2Ffolder&type=output` },
        ],
      });
      assert.equal(`${requests[0]?.method} ${requests[0]?.url}`, `GET /history/${ID}`);
    });
  });

  it('waits for a job that is not in the history', async () => {
    assert.deepEqual(await polled(COMFY, ID, { json: {} }), { result: { kind: 'running' } });
  });

  it('fails with the job', async () => {
    assert.deepEqual(await polled(COMFY, ID, history('error')), { failed: 'provider_error' });
    assert.deepEqual(await polled(COMFY, ID, history('success')), { failed: 'no_output' });
  });

  it('takes a workflow that the server cannot run for a rejection', async () => {
    const json = {
      error: { type: 'prompt_outputs_failed_validation', message: 'Prompt outputs failed validation', details: '' },
      node_errors: { checkpoint: { errors: [{ type: 'value_not_in_list' }], class_type: 'CheckpointLoaderSimple' } },
    };
    assert.equal(reasonOf(await submitted(COMFY, { status: 400, json })), 'model_unavailable');
    await assert.rejects(submitted(COMFY, { status: 500, json: {} }), { name: 'ProviderUnknown' });
  });

  it('cancels a job that waits or runs, and no other', async () => {
    const script =
      (answer: Scripted) =>
      ({ method, url }: Recorded): Scripted => {
        if (method === 'GET') return { json: {} };
        assert.equal(`${method} ${url}`, `POST /api/jobs/${ID}/cancel`);
        return answer;
      };
    assert.equal(await cancelled(COMFY, ID, script({ json: {} })), 'cancelled');
    // A server from before there was such a request.
    assert.equal(await cancelled(COMFY, ID, script({ status: 405, json: {} })), 'unsupported');
    assert.equal(await cancelled(COMFY, ID, history('success')), 'too_late');
  });
});
