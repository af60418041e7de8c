/**
 * Clients of OpenAI's API by others, unmodified: LangChain for JavaScript, and LiteLLM for Python, which is skipped, with
 * the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { ChatOpenAI } from '@langchain/openai';
import sharp from 'sharp';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

const TEXT_MODEL = 'darkroom/conformance-text';
const LITELLM = { name: 'litellm', version: '1.110.2' };

/** What LiteLLM is used for; prints the results as JSON. */
const LITELLM_PROGRAM = `
import base64, json, sys
import litellm

given = json.load(sys.stdin)
# It rejects response_format of images itself, except among what it does not look at.
common = {"api_base": given["url"], "api_key": given["key"]}

def failure(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, getattr(error, "status_code", None)]

question = [{"role": "user", "content": "What is 17 * 3? Reply with only the number."}]
text = litellm.completion(model="openai/" + given["text"], messages=question, **common)
count = [{"role": "user", "content": "Count from 1 to 5."}]
pieces = litellm.completion(model="openai/" + given["text"], messages=count, stream=True, **common)
streamed = "".join(piece.choices[0].delta.content or "" for piece in pieces)
image = litellm.image_generation(model="openai/darkroom/scene", prompt="a lake", size="1024x1024", **common)
address = litellm.image_generation(model="openai/darkroom/scene", prompt="a lake", extra_body={"response_format": "url"}, **common)
speech = litellm.speech(model="openai/darkroom/speech", input="High water.", voice="alloy", response_format="wav", **common)
print(json.dumps({
    "text": text.choices[0].message.content,
    "tokens": text.usage.total_tokens,
    "streamed": streamed,
    "image": image.data[0].b64_json,
    "url": address.data[0].url,
    "speech": speech.content[:4].decode(),
    "failures": [
        failure(lambda: litellm.image_generation(model="openai/darkroom/scene", prompt="a", size="7x7", **common)),
        failure(lambda: litellm.completion(model="openai/none", messages=question, **common)),
        failure(lambda: litellm.completion(model="openai/" + given["text"], messages=question, api_base=given["url"], api_key="none")),
    ],
}))
`;

interface LitellmReport {
  readonly text: string;
  readonly tokens: number;
  readonly streamed: string;
  readonly image: string;
  readonly url: string;
  readonly speech: string;
  readonly failures: readonly (readonly [string, number | null])[];
}

describe('other clients', { timeout: 900_000 }, () => {
  let darkroom: Darkroom;
  let account: TestAccount;
  before(async () => {
    darkroom = await startDarkroom();
    account = await darkroom.createAccount();
  });
  after(() => darkroom?.stop());

  for (const useResponsesApi of [false, true]) {
    it(`LangChain gets text, whole and streamed, from ${useResponsesApi ? 'responses' : 'chat completions'}`, async () => {
      const model = new ChatOpenAI({
        model: TEXT_MODEL,
        apiKey: account.client.key,
        configuration: { baseURL: `${darkroom.url}/v1` },
        useResponsesApi,
      });
      assert.match((await model.invoke('What is 17 * 3? Reply with only the number.')).text, /51/);
      let streamed = '';
      for await (const chunk of await model.stream('Count from 1 to 5.')) streamed += chunk.text;
      assert.match(streamed, /1.*2.*3.*4.*5/s);
    });
  }

  it('LiteLLM gets text, images and speech, and its own errors', { skip: whyNoPackage(LITELLM) }, async () => {
    const python = await obtainPackage(LITELLM);
    // Without this it fetches a list of prices when it is imported.
    const environment = { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
    const child = spawn(python, ['-c', LITELLM_PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'], env: environment });
    child.stdin.end(JSON.stringify({ url: `${darkroom.url}/v1`, key: account.client.key, text: TEXT_MODEL }));
    const lines = (await text(child.stdout)).trim().split('\n');
    const said = JSON.parse(lines.at(-1) ?? '') as LitellmReport;

    assert.match(said.text, /51/);
    assert.ok(said.tokens > 0);
    assert.match(said.streamed, /1.*2.*3.*4.*5/s);
    assert.equal((await sharp(Buffer.from(said.image, 'base64')).metadata()).width, 1024);
    assert.equal((await fetch(said.url)).headers.get('content-type'), 'image/png');
    assert.equal(said.speech, 'RIFF');
    assert.deepEqual(said.failures, [
      ['BadRequestError', 400],
      ['BadRequestError', 400],
      ['AuthenticationError', 401],
    ]);
  });
});
