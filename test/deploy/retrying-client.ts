/** A client of the media endpoints that repeats its requests by itself, as OpenAI's clients do. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** More often than a restart can interrupt a call. */
const MAX_RETRIES = 8;

/** The response to a call, in the end. */
export interface CallOutcome {
  readonly taskId: string;
  /** The image in base64. */
  readonly image: string;
  /** How often the request was repeated. */
  readonly retries: number;
}

/** Generates one image. @throws {AssertionError} a response is not to be repeated, or too many of them failed. */
export async function generateImage(
  { url, key }: { readonly url: string; readonly key: string },
  body: Readonly<Record<string, unknown>>,
): Promise<CallOutcome> {
  for (let retries = 0; ; retries++) {
    const response = await fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        'X-Stainless-Retry-Count': String(retries),
      },
      body: JSON.stringify(body),
    }).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    if (response?.status === 200 && text !== undefined) {
      const { data } = JSON.parse(text) as { data: { b64_json: string }[] };
      const taskId = response.headers.get('x-darkroom-task-id') ?? '';
      return { taskId, image: data[0]?.b64_json ?? '', retries };
    }
    if (response !== undefined) {
      assert.equal(response.headers.get('x-should-retry') ?? 'true', 'true', text);
      assert.ok(response.status >= 500, `${response.status}: ${text}`);
    }
    assert.ok(retries < MAX_RETRIES, text);
    await sleep(500 + 500 * retries);
  }
}
