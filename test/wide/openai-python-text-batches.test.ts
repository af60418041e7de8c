/** Batches of OpenAI's official client for Python, unmodified: of text models, with their files of results. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

const CLIENT = { name: 'openai', version: '3.57.0' };

/** Prints what the batches came to, as JSON. */
const PROGRAM = `
import io, json, time, openai
client = openai.OpenAI()
model = "darkroom/conformance-text"
messages = [{"role": "user", "content": "What is 17 * 3?"}]

def run(endpoint, bodies):
    lines = [dict(custom_id=name, method="POST", url=endpoint, body=body) for name, body in bodies.items()]
    content = "\\n".join(json.dumps(line) for line in lines).encode()
    file = client.files.create(file=("lines.jsonl", io.BytesIO(content)), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window="24h")
    while batch.status not in ("completed", "failed", "expired", "cancelled"):
        time.sleep(0.2)
        batch = client.batches.retrieve(batch.id)
    return batch

def results(file_id):
    return [json.loads(line) for line in client.files.content(file_id).text.splitlines()]

chat = run("/v1/chat/completions", {
    "a": dict(model=model, messages=messages),
    "b": dict(model=model, messages=messages, stream=True),
})
answered = results(chat.output_file_id)
completion = openai.types.chat.ChatCompletion.model_validate(answered[0]["response"]["body"])
rejected = results(chat.error_file_id)
responses = run("/v1/responses", {"a": dict(model=model, input="What is 17 * 3?")})
response = openai.types.responses.Response.model_validate(results(responses.output_file_id)[0]["response"]["body"])
print(json.dumps(dict(
    counts=chat.request_counts.to_dict(), model=chat.model,
    usage=chat.usage.total_tokens == completion.usage.total_tokens, reasoning=chat.usage.output_tokens_details.reasoning_tokens,
    answered=[line["custom_id"] for line in answered], text="51" in completion.choices[0].message.content,
    rejected=[[line["custom_id"], line["response"]["status_code"], line["response"]["body"]["error"]["param"]]
        for line in rejected],
    stored=client.responses.retrieve(response.id).output_text == response.output_text)))
`;

describe("OpenAI's official client for Python and batches", { skip: whyNoPackage(CLIENT) }, () => {
  let darkroom: Darkroom;
  let python: string;
  before(async () => {
    python = await obtainPackage(CLIENT);
    darkroom = await startDarkroom({ apis: 1 });
  });
  after(() => darkroom?.stop());

  it('creates, polls and downloads those of text models', async () => {
    const account = await darkroom.createAccount();
    const env = { ...process.env, OPENAI_BASE_URL: `${darkroom.url}/v1`, OPENAI_API_KEY: account.client.key };
    const { stdout } = await promisify(execFile)(python, ['-c', PROGRAM], { env, timeout: 120_000 });
    assert.deepEqual(JSON.parse(stdout), {
      counts: { total: 2, completed: 1, failed: 1 },
      model: 'darkroom/conformance-text',
      usage: true,
      reasoning: 0,
      answered: ['a'],
      text: true,
      rejected: [['b', 400, 'stream']],
      stored: true,
    });
  });
});
